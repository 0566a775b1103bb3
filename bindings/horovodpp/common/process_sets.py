# SPDX-License-Identifier: Apache-2.0
"""Process sets: collectives of some of the ranks."""
from __future__ import annotations

import operator
from typing import Any, Iterable, List, Optional, Union

from horovodpp import _core
from horovodpp.common.checks import check_initialized
from horovodpp.common.explained import OUTSIDE_OF_A_JOB, explained

_known: dict = {}  # Number -> ProcessSet object.
# Why a set cannot be used.
_NOT_ADDED = "add it first, with hvd.add_process_set() or hvd.init(process_sets=[...])"
_REMOVED = "hvd.remove_process_set() has removed it; add it again, with hvd.add_process_set()"
_JOB_ENDED = ("it was one of a job that has ended; add it to this job, with "
              "hvd.add_process_set() or hvd.init(process_sets=[...])")


@explained(ranks_or_comm="the ranks, in any order.",
           raises={"ValueError": "it is a communicator of MPI, or no list of ranks."},
           example="even = hvd.ProcessSet([0, 2])\nhvd.init(process_sets=[even])")
class ProcessSet:
    """Some ranks of the job, by number.

    Pass a set to init() or add_process_set() before its use. Before that, and after
    remove_process_set(), its process_set_id is None.
    """

    process_set_id: Optional[int] = None
    ranks: Optional[List[int]] = None
    mpi_comm: Any = None

    def __init__(self, ranks_or_comm: Iterable[int]) -> None:
        if hasattr(ranks_or_comm, "Get_size"):
            raise ValueError(
                "Apparently you tried to build a ProcessSet from an MPI communicator: give the "
                "list of its ranks instead")
        try:
            ranks = [operator.index(rank) for rank in ranks_or_comm]
        except TypeError:
            raise ValueError("ProcessSet should be initialized with a list of process ranks or "
                             "an mpi4py Comm object") from None
        self.ranks = sorted(ranks)
        self._core = None
        self._why_not = _NOT_ADDED  # Said while `_core` is None.
        # The number of optimizers in this job, by rank, as ranks may be threads.
        self._optimizers: dict = {}

    def size(self) -> Optional[int]:
        """The number of ranks in the set; None if the set cannot be used."""
        if self._core is None:
            return None
        return len(_core.ranks_of(self._core))

    def rank(self) -> Optional[int]:
        """The position of this rank in the set; None if the set cannot be used.

        Raises ValueError if this rank is not in the set.
        """
        if self._core is None:
            return None
        if not self.included():
            raise ValueError("Process is not part of provided process set.")
        return _core.rank_in(self._core)

    def included(self) -> Optional[bool]:
        """Whether this rank is in the set; None if the set has no ranks yet."""
        if self.ranks is None:
            return None
        check_initialized()
        return _core.rank() in self.ranks

    def suffix_of_next_optimizer(self):
        """A suffix, equal on every rank, that keeps the next optimizer's gradient names unique.

        Gradients of several optimizers, as of a generator and a discriminator, are in flight at the
        same time and often have the same names. Every rank creates its optimizers in the same
        order.
        """
        number = self._optimizers.get(_core.rank(), 0)
        self._optimizers[_core.rank()] = number + 1
        return f"@{number}" if number else ""

    def begin_job(self):
        """Resets the count of this rank's optimizers."""
        self._optimizers.pop(_core.rank(), None)

    def _disconnect(self, why):
        self._core = None
        self.process_set_id = None
        self._why_not = why

    def __str__(self) -> str:
        return (f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks}, "
                f"mpi_comm={self.mpi_comm})")


def _make_global():
    whole = ProcessSet([])
    whole.ranks = None
    whole.process_set_id = 0
    whole._core = _core.ProcessSet()
    return whole


global_process_set = _make_global()


def _connect(process_set, core):
    process_set._core = core
    process_set.process_set_id = core.id
    process_set.begin_job()
    _known[core.id] = process_set


def resolve(wanted):
    """Connects ProcessSet objects with the sets of the job that has just begun."""
    global_process_set.ranks = list(range(_core.size()))
    global_process_set.begin_job()
    by_ranks = {tuple(_core.ranks_of(core)): core for core in _core.process_sets()}
    for process_set in wanted:
        core = by_ranks.get(tuple(process_set.ranks))
        if core is None:
            raise ValueError(f"{process_set} was not given to the first hvd.init(): add it with "
                             "hvd.add_process_set(), on every rank")
        if core.id == 0:
            raise ValueError("Horovod could not be initialized because process_sets entry number "
                             f"{wanted.index(process_set)} is a duplicate: {process_set}")
        _connect(process_set, core)


def forget():
    """Disconnects all sets when their job ends."""
    for process_set in _known.values():
        process_set._disconnect(_JOB_ENDED)
    _known.clear()
    global_process_set.ranks = None


def suspend(ranks):
    """Sets the process's job aside for a job of threads. Returns the argument for resume()."""
    before = (global_process_set.ranks, dict(_known), global_process_set._optimizers)
    _known.clear()
    global_process_set.ranks = list(range(ranks))
    global_process_set._optimizers = {}
    return before


def resume(before):
    """Returns to the process's job: the threads and their sets have ended."""
    forget()
    global_process_set.ranks, known, global_process_set._optimizers = before
    _known.update(known)


def numbered(number):
    """The ProcessSet of this job with that process_set_id. Raises TypeError if there is none."""
    if number == 0:
        return global_process_set
    if number not in _known:
        raise TypeError(f"there is no process set {number} in this job: it was removed, or its job "
                        "has ended")
    return _known[number]


def core_of(process_set):
    """The library's object for a set. Raises TypeError if the set cannot be used."""
    if not isinstance(process_set, ProcessSet):
        raise TypeError(f"{process_set!r} is no process set: give what hvd.add_process_set() "
                        "returns")
    if process_set._core is None:
        raise TypeError(f"{process_set} is no process set of this job: {process_set._why_not}")
    return process_set._core


def member(what, process_set):
    """core_of() a set that this rank is in; `what` names the operation for errors.

    Raises ValueError if this rank is not in the set.
    """
    core = core_of(process_set)
    if process_set is not global_process_set and not process_set.included():
        raise ValueError(f"{what}: Rank {_core.rank()} is not a member of the provided process "
                         "set.")
    return core


@explained(process_set="a ProcessSet, or a list of ranks; equal on all ranks.",
           returns="The ProcessSet.",
           raises={"ValueError": "such a set exists, or an entry is not a rank."},
           example="""
               even = hvd.add_process_set(range(0, hvd.size(), 2))
               if even.included():
                   hvd.allreduce_(x, process_set=even)""")
def add_process_set(process_set: Union[ProcessSet, Iterable[int]]) -> ProcessSet:
    """Makes a set usable; takes a ProcessSet or a list of ranks, and returns the ProcessSet.

    Every rank of the job calls it, members or not. Raises ValueError if the set exists already, or
    if an entry is not a rank.
    """
    check_initialized()
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    # Sets of torch's groups may have the same ranks.
    if any(known.ranks == process_set.ranks for known in (global_process_set, *_known.values())):
        raise ValueError(f"Attempted to add a duplicate process set: {process_set}")
    _connect(process_set, _core.add_process_set(process_set.ranks or []))
    return process_set


@explained(process_set="the set to remove.",
           returns="Whether the set existed.",
           raises=OUTSIDE_OF_A_JOB,
           example="hvd.remove_process_set(even)")
def remove_process_set(process_set: ProcessSet) -> bool:
    """Removes a set; False if it does not exist or is the global one. Every rank calls it."""
    check_initialized()
    core = process_set._core
    if core is None or core.id == 0:
        return False
    process_set._disconnect(_REMOVED)
    _known.pop(core.id, None)
    _core.remove_process_set(core).wait()
    return True
