# SPDX-License-Identifier: Apache-2.0
"""Ranks that torchrun has started find each other by torchrun's own store."""
import os

from horovodpp import _core

# Any of these says how the ranks of another launcher find each other.
_OTHER_LAUNCHERS = ("HOROVODPP_RENDEZVOUS", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
                    "PMI_SIZE")

_meetings = 0


def meet():
    """(meeting, place): rank 0's open Meeting or None, and the argument of _core.init().

    (None, None) if torchrun has not started this process as one of several ranks.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if "TORCHELASTIC_RUN_ID" not in os.environ or size == 1 or any(
            name in os.environ for name in _OTHER_LAUNCHERS):
        return None, None
    return meet_at(_store(), _next_name(), int(os.environ["RANK"]), size)


def meet_at(store, name, rank, size):
    """meet() by any store of torch.distributed: rank 0 writes the place under `name`."""
    meeting = _core.Meeting(size) if rank == 0 else None
    if meeting:
        store.set(name, f"{meeting.place} {meeting.key}")
    place, key = store.get(name).decode().split()
    return meeting, (place, key, rank, size)


def _store():
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        raise ValueError("torchrun has no store of its own here (TORCHELASTIC_USE_AGENT_STORE), by "
                         "which ranks find each other: start the ranks by horovodrun")
    from torch.distributed import TCPStore
    return TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)


def _next_name():
    """The name of the next meeting, which is the same on all ranks."""
    global _meetings
    _meetings += 1
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return f"horovodpp/{os.environ['TORCHELASTIC_RUN_ID']}/{restart}/{_meetings}"
