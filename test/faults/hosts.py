# SPDX-License-Identifier: Apache-2.0
"""Hosts on this machine: network namespaces, each with a host name and an sshd. A pair of wires
joins two hosts, a bridge joins more. Needs root; reason_against() names a missing requirement."""

import os
import secrets
import shutil
import subprocess
import tempfile
import time

import leftovers


def reason_against():
    """Why this machine cannot have hosts; empty if it can."""
    for tool in ("ip", "tc", "sshd", "ssh", "ssh-keygen", "unshare"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return f"there is no {tool}"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"hvdprobe{secrets.token_hex(2)}"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode != 0:
        return tried.stderr.strip()
    subprocess.run(["ip", "netns", "delete", name], check=False)
    return ""


def command(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)


def bits_per_second(rate):
    """The bits per second of a rate as tc writes it: 100mbit, 1gbit."""
    for unit, factor in (("gbit", 10**9), ("mbit", 10**6)):
        if rate.endswith(unit):
            return int(rate.removesuffix(unit)) * factor
    raise ValueError(f"a rate in mbit or gbit, not {rate!r}")


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as name:
            return name.read().strip()
    except OSError:
        return ""


class Host:
    def __init__(self, name, address):
        self.name = name
        self.address = address
        self.wire = name
        self.sshd = None

    def within(self, *words):
        """The command line that runs `words` on this host."""
        return ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c",
                'hostname "$0" && exec "$@"', self.name, *words]

    def processes(self):
        """All processes on the host except sshd's own, which cannot notice a cut wire."""
        pids = command("ip", "netns", "pids", self.name, check=False).stdout.split()
        return [int(pid) for pid in pids if "sshd" not in name_of(pid)]

    def end(self):
        pids = command("ip", "netns", "pids", self.name, check=False).stdout.split()
        leftovers.end(map(int, pids))
        if self.sshd:
            self.sshd.wait()


def ranks_of(host, ranks, hosts=2):
    """If the ranks do not divide evenly, the first hosts have one more than the last ones."""
    first = -(-ranks * host // hosts)
    return list(range(first, -(-ranks * (host + 1) // hosts)))


class Hosts:
    """Hosts for one job at a time. `rate`, such as "1gbit", limits each host's sending and
    receiving."""

    def __init__(self, folders, count=2, rate=""):
        # Ten random bits in the network's number avoid collisions with concurrent
        # runs.
        token = secrets.token_hex(3)
        net = f"10.{200 + secrets.randbelow(50)}.{secrets.randbelow(250)}"
        self.hosts = [Host(f"hvf{token}{i}", f"{net}.{i + 1}") for i in range(count)]
        self.bridge = f"hvb{token}" if count > 2 else ""
        self.rate = rate
        self.folders = folders
        self.folder = tempfile.mkdtemp(prefix="hvd-faults-ssh-", dir="/var/tmp")

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        for host in self.hosts:
            command("ip", "netns", "add", host.name)
        if self.bridge:
            self.join_by_bridge()
        else:
            first, second = self.hosts
            command("ip", "link", "add", first.wire, "netns", first.name, "type", "veth",
                    "peer", "name", second.wire, "netns", second.name)
        for host in self.hosts:
            self.limit(host.name, host.wire)
            inside = ["ip", "-n", host.name]
            command(*inside, "address", "add", f"{host.address}/24", "dev", host.wire)
            command(*inside, "link", "set", "lo", "up")
            command(*inside, "link", "set", host.wire, "up")
        self.write_keys()
        for host in self.hosts:
            self.start_sshd(host)
        self.wait_for_login()

    def join_by_bridge(self):
        command("ip", "netns", "add", self.bridge)
        inside = ["ip", "-n", self.bridge]
        command(*inside, "link", "add", self.bridge, "type", "bridge")
        command(*inside, "link", "set", self.bridge, "up")
        for host in self.hosts:
            command("ip", "link", "add", host.wire, "netns", host.name, "type", "veth",
                    "peer", "name", host.wire, "netns", self.bridge)
            command(*inside, "link", "set", host.wire, "master", self.bridge, "up")
            self.limit(self.bridge, host.wire)

    def limit(self, place, wire):
        """A burst is a millisecond's bytes, but at least this kernel's longest packet."""
        if not self.rate:
            return
        burst = max(64 * 1024, bits_per_second(self.rate) // 8000)
        command("tc", "-n", place, "qdisc", "add", "dev", wire, "root", "tbf", "rate",
                self.rate, "burst", str(burst), "latency", "20ms")

    def write_keys(self):
        for name in ("host", "user"):
            command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                    self.path(name))
        shutil.copy(self.path("user.pub"), self.path("authorized"))
        with open(self.path("sshd_config"), "w") as file:
            file.write(f"HostKey {self.path('host')}\n"
                       f"AuthorizedKeysFile {self.path('authorized')}\n"
                       "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n"
                       f"AcceptEnv {leftovers.MARK} TMPDIR PATH LD_LIBRARY_PATH\n"
                       "MaxStartups 100\n")
        with open(self.path("ssh_config"), "w") as file:
            file.write(f"Host *\n  IdentityFile {self.path('user')}\n"
                       "  IdentitiesOnly yes\n  StrictHostKeyChecking no\n"
                       "  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
                       f"  SendEnv {leftovers.MARK} TMPDIR PATH LD_LIBRARY_PATH\n")

    def start_sshd(self, host):
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
        with open(self.path(f"{host.name}.log"), "w") as log:
            host.sshd = subprocess.Popen(
                host.within(*self.folders.prefix(), sshd, "-D", "-e", "-f",
                            self.path("sshd_config"), "-o",
                            f"ListenAddress={host.address}"),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)

    def wait_for_login(self):
        deadline = time.monotonic() + 20
        for host in self.hosts:
            login = ["ssh", "-F", self.path("ssh_config"), host.address, "true"]
            while True:
                tried = command(*self.hosts[0].within(*login), check=False)
                if tried.returncode == 0:
                    break
                if time.monotonic() > deadline:
                    raise RuntimeError(f"no ssh between the hosts: {tried.stderr}")
                time.sleep(0.05)

    def path(self, name):
        return os.path.join(self.folder, name)

    def environment(self):
        return {"OMPI_MCA_plm_rsh_agent": f"ssh -F {self.path('ssh_config')}",
                "HOROVODPP_HEARTBEAT_SECONDS": "1"}

    def options(self, ranks):
        """The options for horovodrun."""
        return ["-H", ",".join(f"{host.address}:{len(self.ranks_of(i, ranks))}"
                               for i, host in enumerate(self.hosts))]

    def ranks_of(self, host, ranks):
        return ranks_of(host, ranks, len(self.hosts))

    def host_of(self, rank, ranks):
        return next(host for i, host in enumerate(self.hosts)
                    if rank in self.ranks_of(i, ranks))

    def cut(self):
        command("ip", "-n", self.hosts[1].name, "link", "set", self.hosts[1].wire, "down")

    def mend(self):
        command("ip", "-n", self.hosts[1].name, "link", "set", self.hosts[1].wire, "up")

    def processes(self):
        return [pid for host in self.hosts for pid in host.processes()]

    def remove(self):
        for host in self.hosts:
            host.end()
            command("ip", "netns", "delete", host.name, check=False)
        if self.bridge:
            command("ip", "netns", "delete", self.bridge, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
