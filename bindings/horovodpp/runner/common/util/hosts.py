# SPDX-License-Identifier: Apache-2.0
"""Hosts, their slots and the places of ranks, under the names of horovod.runner.common.util.hosts.

    assigned = get_host_assignments(parse_hosts("a:2,b:2"), 3)
    assert assigned[2].hostname == "b" and assigned[2].local_rank == 0
"""
import dataclasses
import re

INVALID_SLOT_INFO_RANK = -1


@dataclasses.dataclass(frozen=True)
class HostInfo:
    """A host and its number of slots."""
    hostname: str
    slots: int

    @staticmethod
    def from_string(host_string):
        """Of "worker-0:2". Raises ValueError for another form."""
        if not re.fullmatch(r"[\w.-]+:[0-9]+", host_string.strip()):
            raise ValueError("Invalid host input, please make sure it has format as : "
                             "worker-0:2,worker-1:2.")
        name, _, slots = host_string.strip().rpartition(":")
        return HostInfo(name, int(slots))


@dataclasses.dataclass
class SlotInfo:
    """The place of a rank."""
    hostname: str
    rank: int
    local_rank: int
    cross_rank: int
    size: int
    local_size: int = 0
    cross_size: int = 0

    def to_response_string(self):
        """The six numbers, separated by commas."""
        return (f"{self.rank},{self.size},{self.local_rank},{self.local_size},{self.cross_rank},"
                f"{self.cross_size}")


def parse_hosts(hosts_string):
    """The HostInfos of "a:2,b:2". Raises ValueError for another form."""
    return [HostInfo.from_string(host) for host in hosts_string.split(",")]


def parse_host_files(filename):
    """The hosts of a file with lines "a slots=2", as "a:2,b:2"."""
    hosts = []
    with open(filename) as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                slots = [word[len("slots="):] for word in words[1:] if word.startswith("slots=")]
                hosts.append(f"{words[0]}:{slots[0] if slots else 1}")
    return ",".join(hosts)


def get_host_assignments(hosts, min_num_proc, max_num_proc=None):
    """The places of ranks, a list of SlotInfo: hosts are filled in their order.

    As many ranks as there are slots, at most `max_num_proc`. Raises ValueError for fewer slots than
    `min_num_proc`.
    """
    slots = sum(host.slots for host in hosts)
    if slots < min_num_proc:
        raise ValueError(f"Requested more processes ({min_num_proc}) than there are available "
                         f"slots ({slots})")
    size = min(slots, max_num_proc or slots)
    places = [(host.hostname, local) for host in hosts for local in range(host.slots)][:size]
    assigned, seen = [], {}
    for rank, (name, local) in enumerate(places):
        cross = seen.setdefault(local, [])
        assigned.append(SlotInfo(name, rank, local, len(cross), size))
        cross.append(name)
    for place in assigned:
        place.local_size = sum(other.hostname == place.hostname for other in assigned)
        place.cross_size = len(seen[place.local_rank])
    return assigned
