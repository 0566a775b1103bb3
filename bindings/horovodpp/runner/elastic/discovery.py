# SPDX-License-Identifier: Apache-2.0
"""The hosts of an elastic job, under the names of horovod.runner.elastic.discovery.

    class Queue(HostDiscovery):
        def find_available_hosts_and_slots(self):
            return {"a": 2, "b": 2}

    horovodpp.run(train, host_discovery_script=Queue(), min_num_proc=2)
"""
import abc
import subprocess

from horovodpp.runner.missing import missing


class HostDiscovery(abc.ABC):
    """Finds the hosts for an elastic job. One thread calls it, about every second."""

    @abc.abstractmethod
    def find_available_hosts_and_slots(self):
        """Returns {host: slots}."""


class HostDiscoveryScript(HostDiscovery):
    """Hosts that a program prints: a line "a" or "a:2" for each.

    slots: of a host without a number.
    """

    def __init__(self, discovery_script, slots=None):
        self._script = discovery_script
        self._default_slots = slots

    def find_available_hosts_and_slots(self):
        """Raises RuntimeError if the program fails, and ValueError for a line of another form."""
        done = subprocess.run(str(self._script), shell=True, stdout=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"Failed to execute discovery script: {self._script}. Exit code: "
                               f"{done.returncode}")
        return dict(self._host(line.strip()) for line in done.stdout.splitlines() if line.strip())

    def _host(self, line):
        name, colon, slots = line.rpartition(":")
        if not colon and self._default_slots:
            return line, self._default_slots
        if not name or not slots.isdecimal():
            raise ValueError(f"'{self._script}' printed '{line}': print HOST:SLOTS, or give the "
                             "number of slots as `slots`")
        return name, int(slots)


class FixedHosts(HostDiscovery):
    """Hosts that the program sets: a dict {host: slots}."""

    def __init__(self, host_slots):
        self._host_slots = dict(host_slots)

    def find_available_hosts_and_slots(self):
        return dict(self._host_slots)

    def set(self, host_slots):
        """Replaces the hosts."""
        self._host_slots = dict(host_slots)


_INSTEAD = ("horovodrun keeps the list of hosts; give a HostDiscovery to "
            "horovodpp.run(host_discovery_script=...)")
HostManager = missing("elastic.discovery", "HostManager", _INSTEAD)
DiscoveredHosts = missing("elastic.discovery", "DiscoveredHosts", _INSTEAD)
HostState = missing("elastic.discovery", "HostState", _INSTEAD)
