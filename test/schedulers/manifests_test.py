# SPDX-License-Identifier: Apache-2.0
"""The manifests in examples/kubernetes, without a cluster.

Fields and values follow the schemas. Each manifest has the same image, user, port and folder of
keys. An sshd of a user without rights accepts exactly the keys of the manifests.

    manifests_test.py <root>

Exits with 77 without PyYAML."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import yaml
except ImportError:
    print("SKIPPED: this Python has no PyYAML")
    sys.exit(77)

FOLDER = pathlib.Path(sys.argv[1]) / "examples" / "kubernetes"
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
USER = 1000
PORT = 2222
SSHD = ["/usr/sbin/sshd", "-De", "-f", "/etc/horovodpp/sshd_config"]

# Fields that the schemas have, for the places that the manifests use; a misspelled field would be
# dropped or refused.
JOB_SPEC = {"activeDeadlineSeconds", "backoffLimit", "completionMode", "completions", "parallelism",
            "successPolicy", "template", "ttlSecondsAfterFinished"}
POD_SPEC = {"containers", "restartPolicy", "securityContext", "subdomain", "volumes"}
CONTAINER = {"command", "image", "name", "ports", "readinessProbe", "resources", "securityContext",
             "volumeMounts"}
MPI_JOB_SPEC = {"launcherCreationPolicy", "mpiImplementation", "mpiReplicaSpecs", "runLauncherAsWorker",
                "runPolicy", "slotsPerWorker", "sshAuthMountPath"}
RUN_POLICY = {"activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "managedBy",
              "schedulingPolicy", "suspend", "ttlSecondsAfterFinished"}
MPI_POLICY = {"mpiImplementation", "numProcPerNode", "runLauncherAsNode", "sshAuthMountPath"}


MAY_RUN_SSHD = (
    os.geteuid() == 0 and os.path.exists(SSHD[0]) and shutil.which("ssh-keygen") is not None and
    subprocess.run(["unshare", "--mount", "setpriv", f"--reuid={USER}", "--clear-groups", "true"],
                   capture_output=True).returncode == 0)


def documents(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def kinds(name):
    return {one["kind"]: one for one in documents(name)}


def pod_templates(node):
    """All pod templates below a node."""
    if isinstance(node, dict):
        if "containers" in node.get("spec", {}):
            yield node
        for value in node.values():
            yield from pod_templates(value)
    elif isinstance(node, list):
        for value in node:
            yield from pod_templates(value)


ALL_PODS = [(name, pod["spec"]) for name in ("mpi_job.yaml", "train_job.yaml", "job.yaml")
            for pod in pod_templates(documents(name))]


class Pods(unittest.TestCase):
    def test_include_launchers_and_workers(self):
        self.assertEqual([name for name, _ in ALL_PODS],
                         ["mpi_job.yaml"] * 2 + ["train_job.yaml"] * 2 + ["job.yaml"])

    def test_have_known_fields_one_image_and_no_rights(self):
        for name, pod in ALL_PODS:
            with self.subTest(name):
                self.assertLessEqual(set(pod), POD_SPEC)
                [container] = pod["containers"]
                self.assertLessEqual(set(container), CONTAINER)
                self.assertEqual(container["image"], "registry.example/train:1")
                self.assertEqual(container["securityContext"], {"runAsUser": USER})
                for word in container["command"]:
                    self.assertIsInstance(word, str)

    def test_mount_volumes_that_they_have(self):
        for name, pod in ALL_PODS:
            with self.subTest(name):
                mounted = {mount["name"] for mount in pod["containers"][0].get("volumeMounts", [])}
                self.assertEqual(mounted, {volume["name"] for volume in pod.get("volumes", [])})

    def test_workers_run_the_sshd_of_the_image_and_say_when_it_is_ready(self):
        workers = 0
        for name, pod in ALL_PODS:
            [container] = pod["containers"]
            if container["command"][0] != SSHD[0]:
                continue
            workers += 1
            with self.subTest(name):
                self.assertEqual(container["command"], SSHD)
                self.assertEqual(container["ports"], [{"containerPort": PORT}])
                self.assertEqual(container["readinessProbe"]["tcpSocket"], {"port": PORT})
        self.assertEqual(workers, 2)

    def test_scripts_are_shell(self):
        scripts = 0
        for name, pod in ALL_PODS:
            command = pod["containers"][0]["command"]
            if command[0] != "sh":
                continue
            scripts += 1
            with self.subTest(name):
                self.assertEqual(command[:2], ["sh", "-ec"])
                done = subprocess.run(["sh", "-n", "-c", command[2]], capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                # The container's exit code is horovodrun's.
                self.assertRegex(command[2], r"exec horovodrun [^\n]*\n\Z")
        self.assertEqual(scripts, 2)


class MpiJob(unittest.TestCase):
    def setUp(self):
        self.job = kinds("mpi_job.yaml")["MPIJob"]
        self.spec = self.job["spec"]

    def test_has_known_fields_and_values(self):
        self.assertEqual(self.job["apiVersion"], "kubeflow.org/v2beta1")
        self.assertLessEqual(set(self.spec), MPI_JOB_SPEC)
        self.assertLessEqual(set(self.spec["runPolicy"]), RUN_POLICY)
        self.assertIn(self.spec["mpiImplementation"], {"OpenMPI", "Intel", "MPICH"})
        self.assertIn(self.spec["launcherCreationPolicy"], {"AtStartup", "WaitForWorkersReady"})
        self.assertIn(self.spec["runPolicy"]["cleanPodPolicy"], {"None", "Running", "All"})

    def test_has_one_launcher_and_workers(self):
        replicas = self.spec["mpiReplicaSpecs"]
        self.assertEqual(set(replicas), {"Launcher", "Worker"})
        self.assertEqual(replicas["Launcher"]["replicas"], 1)
        for one in replicas.values():
            self.assertLessEqual(set(one), {"replicas", "restartPolicy", "template"})
            self.assertIn(one["restartPolicy"], {"Never", "OnFailure"})
            # The operator overwrites it in the pod.
            self.assertNotIn("restartPolicy", one["template"]["spec"])

    def test_leaves_hosts_and_ranks_to_the_operator(self):
        [launcher] = self.spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
        self.assertEqual(launcher["command"], ["horovodrun", "./train"])


class TrainJob(unittest.TestCase):
    def setUp(self):
        found = kinds("train_job.yaml")
        self.runtime, self.job = found["TrainingRuntime"], found["TrainJob"]

    def test_uses_the_runtime(self):
        for one in (self.runtime, self.job):
            self.assertEqual(one["apiVersion"], "trainer.kubeflow.org/v1alpha1")
        self.assertEqual(self.job["spec"]["runtimeRef"],
                         {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime",
                          "name": self.runtime["metadata"]["name"]})

    def test_has_an_mpi_policy(self):
        policy = self.runtime["spec"]["mlPolicy"]
        self.assertEqual(set(policy), {"mpi", "numNodes"})
        self.assertEqual(set(policy["mpi"]), MPI_POLICY)
        self.assertIn("trainer.kubeflow.org/framework", self.runtime["metadata"]["labels"])

    def test_has_a_launcher_and_a_node_that_end_with_the_launcher(self):
        template = self.runtime["spec"]["template"]["spec"]
        jobs = {job["name"]: job["template"] for job in template["replicatedJobs"]}
        self.assertEqual(list(jobs), ["launcher", "node"])
        # The operator finds both containers by this name.
        for job in jobs.values():
            self.assertLessEqual(set(job["spec"]), JOB_SPEC)
            self.assertEqual(job["spec"]["template"]["spec"]["containers"][0]["name"], "node")
        self.assertEqual(jobs["launcher"]["metadata"]["labels"],
                         {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"})
        self.assertEqual(template["successPolicy"],
                         {"operator": "All", "targetReplicatedJobs": ["launcher"]})
        self.assertIs(template["network"]["publishNotReadyAddresses"], True)


class PlainJob(unittest.TestCase):
    def setUp(self):
        found = kinds("job.yaml")
        self.service, self.job = found["Service"], found["Job"]

    def test_the_service_names_the_pods_before_they_are_ready(self):
        spec = self.service["spec"]
        self.assertEqual(spec["clusterIP"], "None")
        self.assertIs(spec["publishNotReadyAddresses"], True)
        self.assertEqual(spec["selector"], {"job-name": self.job["metadata"]["name"]})
        self.assertEqual(self.job["spec"]["template"]["spec"]["subdomain"],
                         self.service["metadata"]["name"])

    def test_is_indexed_and_ends_with_the_launcher(self):
        spec = self.job["spec"]
        self.assertEqual(self.job["apiVersion"], "batch/v1")
        self.assertLessEqual(set(spec), JOB_SPEC)
        self.assertEqual(spec["completionMode"], "Indexed")
        self.assertEqual(spec["completions"], spec["parallelism"])
        self.assertEqual(spec["backoffLimit"], 0)
        self.assertEqual(spec["successPolicy"], {"rules": [{"succeededIndexes": "0"}]})
        self.assertEqual(spec["template"]["spec"]["restartPolicy"], "Never")

    def test_the_launcher_names_every_pod(self):
        [container] = self.job["spec"]["template"]["spec"]["containers"]
        name = self.job["metadata"]["name"]
        hosts = re.search(r"-H (\S+) -np (\d+) ", container["command"][2])
        wanted = [f"{name}-{index}.{name}" for index in range(self.job["spec"]["completions"])]
        self.assertEqual([host.partition(":")[0] for host in hosts[1].split(",")], wanted)
        slots = sum(int(host.partition(":")[2]) for host in hosts[1].split(","))
        self.assertEqual(int(hosts[2]), slots)
        for host in wanted[1:]:
            self.assertIn(f"until ssh {host} true", container["command"][2])


class Image(unittest.TestCase):
    def test_has_the_manifests_user_and_files(self):
        self.assertIn(f"--uid {USER}", DOCKERFILE)
        home = re.search(r"--create-home (\S+)", DOCKERFILE)[1]
        self.assertRegex(DOCKERFILE, rf"USER {home}\nWORKDIR /home/{home}\n\Z")
        for name in ("mpi_job.yaml", "train_job.yaml", "job.yaml"):
            self.assertIn(f"/home/{home}/.ssh", (FOLDER / name).read_text())
        for name in ("sshd_config", "ssh_config"):
            self.assertIn(f"examples/kubernetes/{name}", DOCKERFILE)
            self.assertIn(f"Port {PORT}", (FOLDER / name).read_text())

    @unittest.skipUnless(MAY_RUN_SSHD, "needs sshd, and root's rights to become another user")
    def test_its_sshd_serves_a_user_without_rights_and_its_client_knows_the_key(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            folder = pathlib.Path(folder)
            folder.chmod(0o755)
            self.serve(folder)

    def serve(self, folder):
        """As the Dockerfile sets it up, in another folder and on another port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        (folder / "passwd").write_text(pathlib.Path("/etc/passwd").read_text() +
                                       f"trainer:x:{USER}:{USER}::{folder}:/bin/sh\n")
        for key in ("host_key", "id", "other"):
            subprocess.check_call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key])
        os.chown(folder / "host_key", USER, -1)
        # As the image's sed does.
        known = re.search(r"sed '(s/[^']*)'", DOCKERFILE)[1].replace(str(PORT), port)
        (folder / "known").write_bytes(subprocess.check_output(["sed", known, folder / "host_key.pub"]))
        def adapted(name):
            text = (FOLDER / name).read_text().replace(f"Port {PORT}", f"Port {port}")
            (folder / name).write_text(text.replace("/etc/horovodpp", str(folder)))
            return folder / name
        with open(adapted("sshd_config"), "a") as config:
            config.write(f"AuthorizedKeysFile {folder}/id.pub\nListenAddress 127.0.0.1\n")
        sshd = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"',
             folder / "passwd", "setpriv", f"--reuid={USER}", "--clear-groups", SSHD[0], "-De", "-f",
             folder / "sshd_config"], stderr=subprocess.DEVNULL)
        self.addCleanup(sshd.wait)
        self.addCleanup(sshd.terminate)
        def ssh(key):
            return subprocess.run(
                ["ssh", "-F", adapted("ssh_config"), "-i", folder / key,
                 "-o", f"GlobalKnownHostsFile={folder}/known", "-o", "UserKnownHostsFile=/dev/null",
                 "-o", "IdentitiesOnly=yes", "trainer@127.0.0.1", "true"],
                capture_output=True, text=True, timeout=30)
        deadline = time.monotonic() + 30
        while "Connection refused" in (done := ssh("id")).stderr and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Permission denied", ssh("other").stderr)
        (folder / "known").write_text("")
        self.assertIn("Host key verification failed", ssh("id").stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
