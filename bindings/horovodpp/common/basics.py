# SPDX-License-Identifier: Apache-2.0
"""init() and shutdown(), this rank's place in the job, and the features of the build."""
from __future__ import annotations

import atexit
import os
import sys
from typing import Any, Callable, Dict, List, Sequence, TypeVar, Union

from horovodpp import _core
from horovodpp.common import handles, process_sets as sets, threads, torchrun
from horovodpp.common.checks import check_initialized
from horovodpp.common.explained import explained
from horovodpp.common.ops import *  # noqa: F401,F403  (Horovod has them here.)

Number = TypeVar("Number", int, bool)

_hooks_are_set = False
_may_have_timeline = False
_is_wanted_by_program = False  # Whether init() has been called in this job.


@explained(raises={"ValueError": "an argument is invalid, or the job cannot start; the text "
                                 "says why."},
           example="hvd.init()\nprint(hvd.rank(), hvd.size())")
def init(comm: Any = None,
         process_sets: Union[Sequence[sets.ProcessSet], str, None] = None) -> None:
    """Enters the job in which this process was started; without a launcher, a job of one rank.

    Args:
        comm: None, or the list of all ranks. For some of the ranks, use a process set.
        process_sets: a list of ProcessSet objects, which become usable; or None, or "dynamic".

    If the process is already in a job, only looks up `process_sets`.
    Raises ValueError for invalid arguments, or if the job cannot start; the message says why.
    """
    global _is_wanted_by_program
    if isinstance(process_sets, str):
        if process_sets.lower() != "dynamic":
            raise ValueError(f"process_sets is {process_sets!r}: it takes a list of ProcessSet "
                             "objects, or 'dynamic'")
        process_sets = None
    wanted = list(process_sets or [])
    _refuse_duplicates(wanted)
    entered = not _core.is_initialized()
    if entered:
        try:
            # Rank 0's meeting is open until all ranks have entered.
            meeting, place = torchrun.meet()
            _core.init([sorted(wanted_set.ranks or ()) for wanted_set in wanted], place)
            del meeting
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"Horovod initialization failed. {error}") from error
    try:
        _check_comm(comm)
        sets.resolve(wanted)
    except Exception:
        if entered:
            _core.shutdown()
        raise
    _is_wanted_by_program = True
    _set_hooks()
    if entered:
        _note_timeline()


def init_at(place):
    """Enters the job whose ranks meet at `place`, an argument of _core.init(), for a caller that
    leaves the job unless the program calls init() meanwhile."""
    global _is_wanted_by_program
    _core.init([], place)
    sets.resolve([])
    _is_wanted_by_program = False
    _set_hooks()
    _note_timeline()


def is_wanted_by_program():
    """Whether the program has called init() in this job."""
    return _is_wanted_by_program


def _note_timeline():
    global _may_have_timeline
    _may_have_timeline = bool(os.environ.get("HOROVOD_TIMELINE"))


@explained(file_path="the file. With {rank} in its name each rank writes one.",
           mark_cycles="whether to mark each beginning of a cycle.",
           raises={"ValueError": "HOROVOD_TIMELINE was not set at init()."},
           example='hvd.start_timeline("/tmp/timeline.json")')
def start_timeline(file_path: Union[str, os.PathLike[str]], mark_cycles: bool = False) -> None:
    """Writes the operations of rank 0 to a file for Perfetto (chrome://tracing) from here on.

    Replaces a timeline that is already being written. If the path contains "{rank}", every rank
    writes a file, under its number. `mark_cycles` marks each beginning of a cycle: of the steps
    whose order is fixed. A file that cannot be written is a warning in the log of its rank. Raises
    ValueError if HOROVOD_TIMELINE was not set at init().
    """
    check_initialized()
    if not _may_have_timeline:
        raise ValueError("Set HOROVOD_TIMELINE=DYNAMIC to enable dynamic timeline usage.")
    _core.start_timeline(os.fspath(file_path), mark_cycles)


def stop_timeline() -> None:
    """Ends the timeline and closes its file. Does nothing if no timeline is being written."""
    check_initialized()
    _core.stop_timeline()


def mark_step() -> None:
    """Says that a training step of this rank has ended, for HOROVODPP_SUMMARY_STEPS.

    An optimizer does so itself, when all gradients are reduced.
    """
    check_initialized()
    _core.mark_step()


def metrics() -> Dict[str, List[Dict[str, Any]]]:
    """Returns this rank's metrics: a dict from each name to the list of its series.

        hvd.metrics()["horovodpp_steps_total"] == [{"labels": {"rank": "0"}, "value": 12.0}]

    In place of "value", a histogram has "sum", "count" and "buckets": for each bound the number of
    observations that are at most the bound. The first call begins to count, unless
    HOROVODPP_METRICS=1, HOROVODPP_METRICS_FILE or HOROVODPP_METRICS_PORT was set at init().
    """
    check_initialized()
    return _core.metrics()


def _refuse_duplicates(wanted):
    seen = set()
    for number, wanted_set in enumerate(wanted):
        if wanted_set.ranks is None:
            continue
        ranks = tuple(wanted_set.ranks)
        if ranks in seen:
            raise ValueError("Horovod could not be initialized because process_sets entry number "
                             f"{number} is a duplicate: {wanted_set}")
        seen.add(ranks)


def _check_comm(comm):
    if comm is None:
        return
    if hasattr(comm, "Get_size"):  # An mpi4py.MPI.Comm.
        if comm.Get_size() == size():
            return
    elif isinstance(comm, (list, tuple)):
        if not comm or sorted(comm) == list(range(size())):
            return
    else:
        raise ValueError("Invalid type of argument comm. Expected list of rank integers or "
                         "mpi4py.MPI.Comm object.")
    raise NotImplementedError(
        "comm must contain all ranks of the job. For some of the ranks, use a process set: "
        "hvd.init(process_sets=[hvd.ProcessSet(ranks)])")


def _set_hooks():
    """Makes a rank that ends by an exception report it to the others at once."""
    global _hooks_are_set
    if _hooks_are_set:
        return
    _hooks_are_set = True
    previous = sys.excepthook

    def report(kind, error, traceback):
        previous(kind, error, traceback)
        sys.stderr.flush()
        _core.abort(f"raised {kind.__name__}: {error}")

    sys.excepthook = report
    # The interpreter ends before the process leaves the job, so operations in flight must keep
    # their memory.
    atexit.register(handles.keep_until_exit)


def shutdown() -> None:
    """Leaves the job, once every rank does. Operations in flight fail."""
    if threads.is_rank():  # The state below belongs to all rank threads.
        _core.shutdown()
        return
    sets.forget()
    _core.shutdown()
    handles.forget_all()


def reform() -> None:
    """Continues without the lost ranks after the job broke. Every survivor calls it.

    Afterwards rank(), size() and so on describe the new job. Add process sets and create optimizers
    again.
    """
    _core.reform()
    _enter_next_job()


def grow():
    """Continues with the processes that wait to join the job (_core.waiting_newcomers()).

    Every rank calls it, with no operation in flight. Afterwards rank(), size() and so on describe
    the new job, as after reform(). Returns None, or a text: why the job continues as before.
    """
    refusal = _core.grow()
    if refusal is None:
        _enter_next_job()
    return refusal


def _enter_next_job():
    handles.forget_all()
    sets.forget()
    sets.resolve([])


def is_initialized() -> bool:
    """Whether this process is in a job."""
    return _core.is_initialized()


def _of_the_job(number: Callable[[], Number]) -> Callable[[], Number]:
    def get() -> Number:
        check_initialized()
        return number()

    get.__name__ = get.__qualname__ = number.__name__
    return get


rank = _of_the_job(_core.rank)
rank.__doc__ = "The number of this process in the job."
size = _of_the_job(_core.size)
size.__doc__ = "The number of ranks in the job."
local_rank = _of_the_job(_core.local_rank)
local_rank.__doc__ = "The number of this process on its node."
local_size = _of_the_job(_core.local_size)
local_size.__doc__ = "The number of ranks on this node."
cross_rank = _of_the_job(_core.cross_rank)
cross_rank.__doc__ = "The rank of this node among the nodes that have this local rank."
cross_size = _of_the_job(_core.cross_size)
cross_size.__doc__ = "The number of nodes that have this local rank."
is_homogeneous = _of_the_job(_core.is_homogeneous)
is_homogeneous.__doc__ = "Whether all nodes have the same number of ranks."


def mpi_threads_supported() -> bool:
    """Whether MPI is used from several threads."""
    check_initialized()
    return _core.mpi_built()


def mpi_enabled() -> bool:
    """Whether jobs of several processes run over MPI."""
    return _core.mpi_built()


def mpi_built() -> bool:
    """Whether MPI was built in."""
    return _core.mpi_built()


def gloo_enabled() -> bool:
    """Always False: horovodpp does not use Gloo."""
    return False


def gloo_built() -> bool:
    """Always False: horovodpp does not use Gloo."""
    return False


def nccl_built() -> int:
    """The version of NCCL (22703 is 2.27.3), or 0 if its library cannot be loaded.

    Tensors on GPUs use NCCL where possible. If torch was imported before, this is PyTorch's NCCL.
    """
    return _core.nccl_built()


def ddl_built() -> bool:
    """Always False: horovodpp does not use IBM DDL."""
    return False


def ccl_built() -> bool:
    """Always False: horovodpp does not use oneCCL."""
    return False


def cuda_built() -> bool:
    """Always True: collectives accept tensors on NVIDIA GPUs, if a driver is installed."""
    return _core.cuda_built()


def rocm_built() -> bool:
    """Always False: horovodpp does not support ROCm."""
    return False


class HorovodBasics:
    """The functions of this module as methods, as in Horovod. The arguments are not needed."""

    def __init__(self, pkg_path: Any = None, *args: object) -> None:
        del pkg_path, args


for _function in (
        init, shutdown, is_initialized, start_timeline, stop_timeline, rank, size, local_rank,
        local_size, cross_rank, cross_size, is_homogeneous, mpi_threads_supported, mpi_enabled,
        mpi_built, gloo_enabled, gloo_built, nccl_built, ddl_built, ccl_built, cuda_built,
        rocm_built):
    setattr(HorovodBasics, _function.__name__, staticmethod(_function))
for _name in ("Average", "Sum", "Adasum", "Min", "Max", "Product"):
    setattr(HorovodBasics, _name, globals()[_name])
