# SPDX-License-Identifier: Apache-2.0
"""Hosts a, b, c on this machine, as users have them. Each has a network, mounts, a host name and an
sshd of its own. Interfaces have different names, and every host has a bridge of the same address,
as by Docker. They share the file system, except for their mounts. Needs root; reason_against()
names a missing requirement."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "faults"))
import hosts as pairs  # noqa: E402
import leftovers  # noqa: E402

BRIDGE_ADDRESS = "172.17.0.1/16"
TIMEOUT = 20
SKIPPED = 77

command = pairs.command


def reason_against():
    reason = pairs.reason_against()
    if reason:
        return reason
    tried = command("unshare", "--mount", "--uts", "true", check=False)
    return "" if tried.returncode == 0 else tried.stderr.strip()


def run_tests():
    """Runs the tests of the program's own file; ctest counts the exit code 77 as skipped."""
    reason = reason_against()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


class Host:
    def __init__(self, letter, token, address, wire):
        self.letter = letter
        self.space = f"hvh{token}{letter}"
        self.address = address
        self.wire = wire
        self.keeper = None  # Its process holds the mounts and the host name.
        self.sshd = None

    def within(self, *words):
        """The command line that runs `words` on this host."""
        return ["nsenter", "-t", str(self.keeper.pid), "--net", "--uts", "--mount", *words]

    def run(self, *words, check=True):
        return command(*self.within(*words), check=check)

    def pids(self):
        return list(map(int, command("ip", "netns", "pids", self.space,
                                     check=False).stdout.split()))


# No name is another's beginning.
WIRES = {"a": "eA", "b": "ethB0", "c": "netC1"}


def limit_rate(space, wire, rate):
    """Limits what an interface sends, such as to "1mbit"."""
    command("tc", "-n", space, "qdisc", "add", "dev", wire, "root", "tbf",
            "rate", rate, "burst", "64kb", "latency", "100ms")


class Network:
    """Hosts `a` to the last letter on one switch. `rate`, such as "1mbit", limits each link;
    `wires` names each host's interface."""

    def __init__(self, letters="ab", rate="", wires=None):
        token = secrets.token_hex(2)
        net = f"10.{200 + secrets.randbelow(50)}.{secrets.randbelow(250)}"
        self.hosts = {letter: Host(letter, token, f"{net}.{i + 1}", (wires or WIRES)[letter])
                      for i, letter in enumerate(letters)}
        self.switch = f"hvs{token}"
        self.rate = rate
        self.folder = tempfile.mkdtemp(prefix="hvd-hosts-", dir="/var/tmp")

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def __getitem__(self, letter):
        return self.hosts[letter]

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self):
        command("ip", "netns", "add", self.switch)
        command("ip", "-n", self.switch, "link", "add", "switch", "type", "bridge")
        command("ip", "-n", self.switch, "link", "set", "switch", "up")
        for host in self.hosts.values():
            self.join(host)
            self.add_bridge(host)
        self.write_keys()
        for host in self.hosts.values():
            self.start_sshd(host)
        self.wait_for_logins()

    def join(self, host):
        command("ip", "netns", "add", host.space)
        port = f"port{host.letter}"
        command("ip", "link", "add", host.wire, "netns", host.space, "type", "veth",
                "peer", "name", port, "netns", self.switch)
        command("ip", "-n", self.switch, "link", "set", port, "master", "switch", "up")
        inside = ["ip", "-n", host.space]
        command(*inside, "address", "add", f"{host.address}/24", "dev", host.wire)
        command(*inside, "link", "set", "lo", "up")
        command(*inside, "link", "set", host.wire, "up")
        if self.rate:
            limit_rate(host.space, host.wire, self.rate)
            limit_rate(self.switch, port, self.rate)
        host.keeper = subprocess.Popen(
            ["ip", "netns", "exec", host.space, "unshare", "--uts", "--mount",
             "--propagation", "private", "sh", "-c",
             'hostname "$0" && echo && exec sleep 1000000', host.letter],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        host.keeper.stdout.readline()
        host.keeper.stdout.close()

    def add_bridge(self, host):
        inside = ["ip", "-n", host.space, "link"]
        command(*inside, "add", "docker0", "type", "bridge")
        command(*inside, "add", "container", "type", "veth", "peer", "name", "inside")
        command(*inside, "set", "container", "master", "docker0", "up")
        command(*inside, "set", "inside", "up")
        command("ip", "-n", host.space, "address", "add", BRIDGE_ADDRESS, "dev", "docker0")
        command(*inside, "set", "docker0", "up")

    def write_keys(self):
        for name in ("host", "user", "stranger"):
            command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name))
        shutil.copy(self.path("user.pub"), self.path("authorized"))
        self.write("sshd_config", f"HostKey {self.path('host')}\n"
                   f"AuthorizedKeysFile {self.path('authorized')}\n"
                   "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n"
                   f"AcceptEnv {leftovers.MARK} TMPDIR PATH LD_LIBRARY_PATH\n"
                   # The user's start-up files may take long.
                   f"SetEnv HOME={self.folder}\n"
                   "MaxStartups 100\n")
        with open(self.path("host.pub")) as file:
            key = " ".join(file.read().split()[:2])
        with open(self.path("stranger.pub")) as file:
            other_key = " ".join(file.read().split()[:2])
        self.write("known", self.known_hosts(key))
        self.write("known_otherwise", self.known_hosts(other_key))
        self.write("known_none", "")
        self.write("ssh_config", self.ssh_config("known", "user"))
        self.write("ssh_wrong_user", self.ssh_config("known", "stranger"))
        self.write("ssh_unknown_host", self.ssh_config("known_none", "user"))
        self.write("ssh_changed_host", self.ssh_config("known_otherwise", "user"))

    def known_hosts(self, key):
        return "".join(f"{host.address} {key}\n" for host in self.hosts.values())

    def ssh_config(self, known, user):
        names = "".join(f"Host {host.letter}\n  HostName {host.address}\n"
                        for host in self.hosts.values())
        return (f"{names}Host *\n  IdentityFile {self.path(user)}\n  IdentitiesOnly yes\n"
                f"  UserKnownHostsFile {self.path(known)}\n"
                "  GlobalKnownHostsFile /dev/null\n"
                f"  SendEnv {leftovers.MARK} TMPDIR PATH LD_LIBRARY_PATH\n")

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def start_sshd(self, host):
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
        with open(self.path(f"{host.letter}.log"), "w") as log:
            host.sshd = subprocess.Popen(
                host.within(sshd, "-D", "-e", "-f", self.path("sshd_config")),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)

    def wait_for_logins(self):
        deadline = time.monotonic() + TIMEOUT
        for host in self.hosts.values():
            while True:
                tried = self["a"].run("ssh", "-F", self.path("ssh_config"), host.letter,
                                      "true", check=False)
                if tried.returncode == 0:
                    break
                if time.monotonic() > deadline:
                    raise RuntimeError(f"no ssh between the hosts: {tried.stderr}")
                time.sleep(0.05)

    def shell(self, config="ssh_config"):
        """The variable by which horovodrun connects to these hosts."""
        return {"OMPI_MCA_plm_rsh_agent": f"ssh -F {self.path(config)}"}

    def link(self, letter, state):
        """`state` is up or down, at the switch: the host itself sees its link."""
        command("ip", "-n", self.switch, "link", "set", f"port{letter}", state)

    def remove(self):
        for host in self.hosts.values():
            leftovers.end(host.pids())
            for process in (host.keeper, host.sshd):
                if process:
                    process.wait()
            command("ip", "netns", "delete", host.space, check=False)
        command("ip", "netns", "delete", self.switch, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
