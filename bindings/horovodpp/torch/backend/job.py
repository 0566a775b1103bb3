# SPDX-License-Identifier: Apache-2.0
"""The job of a process group: found, entered by the group's store, or begun by the launcher."""
import contextlib
import os
import socket
import sys
import urllib.parse

import torch.distributed as dist

from horovodpp import _core
from horovodpp.common import basics, torchrun
from horovodpp_torch_backend import _LAUNCHERS, NAME

_KEY = "horovodpp/meeting"
_is_of_group = False  # Whether the job ends with its first group.
_entries = 0


def enter(store, rank, size):
    """Enters the job whose ranks are those of a first group, unless the process is in it.

    Raises RuntimeError if the process is in a job in which it has another rank.
    """
    global _is_of_group, _entries
    _entries += 1
    if not _core.is_initialized():
        if size == 1 or any(name in os.environ for name in _LAUNCHERS):
            basics.init_at(None)
        else:
            _enter_by(store, rank, size)
        _is_of_group = True
    _check_place(rank, size)


def _check_place(rank, size):
    if (_core.rank(), _core.size()) != (rank, size):
        raise RuntimeError(
            f"this process is rank {_core.rank()} of {_core.size()} in its job of horovodpp, but "
            f"rank {rank} of {size} in the process group: give init_process_group() the rank and "
            "size of the job, or none")


def unique(name):
    """`name`, unless the process had first groups before, whose sub-groups had the same names."""
    return name if _entries == 1 else f"{_entries}:{name}"


def _enter_by(store, rank, size):
    meeting, place = torchrun.meet_at(store, _KEY, rank, size)
    basics.init_at(place)
    if meeting is not None:  # Every rank has entered: a later group meets anew.
        store.delete_key(_KEY)
        del meeting


def leave(timeout):
    """Leaves the job if the first group entered it and hvd.init() was not called since.

    Waits up to `timeout` seconds for the other ranks, which may still use groups that lack this
    rank. But a rank that handles an exception leaves the others at once: they may wait for it.
    """
    global _is_of_group
    is_left = _is_of_group and _core.is_initialized() and not basics.is_wanted_by_program()
    _is_of_group = False
    if not is_left:
        return
    kind, error, _ = sys.exc_info()
    if kind is not None:
        _core.abort(f"left the process group while it handled {kind.__name__}: {error}")
    else:
        with contextlib.suppress(RuntimeError, TimeoutError):  # The others know the cause.
            _core.barrier(_core.ProcessSet()).wait(timeout)
    basics.shutdown()


def reform():
    """Continues without the lost ranks: replaces the broken job and torch's default process group.

    Every survivor calls it after an error of a lost rank. Returns the new group, of all survivors;
    all other groups are gone. A DDP model goes on by model._update_process_group(group).
    """
    global _is_of_group
    was_of_group, _is_of_group = _is_of_group, False  # destroy_process_group() leaves no job.
    if dist.is_initialized():
        dist.destroy_process_group()
    basics.reform()
    dist.init_process_group(NAME, store=_store_of_job(None), rank=_core.rank(),
                            world_size=_core.size())
    _is_of_group = was_of_group
    return dist.group.WORLD


def meet_in_job(url, options):
    """The handler of env:// where horovodrun or mpirun started the ranks: yields (store, rank,
    size), as torch's handlers do. Raises RuntimeError if the URL has another rank or size."""
    global _is_of_group
    if not _core.is_initialized():
        basics.init_at(None)
        _is_of_group = True
    rank, size = _core.rank(), _core.size()
    given = urllib.parse.parse_qs(urllib.parse.urlparse(url).query)
    _check_place(int(given.get("rank", [rank])[0]), int(given.get("world_size", [size])[0]))
    yield _store_of_job(options.get("timeout")), rank, size
    raise RuntimeError("a job of horovodpp cannot meet again under env://")


def _store_of_job(timeout):
    """A TCPStore of rank 0; the ranks learn its port by a broadcast of the job."""
    from horovodpp.torch.functions import broadcast_object
    rank, size = _core.rank(), _core.size()
    more = {} if timeout is None else {"timeout": timeout}
    host = "localhost" if _core.local_size() == size else socket.getfqdn()
    store = None
    if rank == 0:
        store = dist.TCPStore(host, 0, size, True, wait_for_workers=False, **more)
    host, port = broadcast_object((host, store.port if store else 0), 0, "horovodpp.store")
    return store or dist.TCPStore(host, port, size, False, wait_for_workers=False, **more)
