# SPDX-License-Identifier: Apache-2.0
"""The job: entering and leaving it, this rank's place in it, what was built."""
import atexit
import os
import sys
import warnings

from horovodpp import _core
from horovodpp.common import handles, process_sets as sets, threads
from horovodpp.common.checks import check_initialized

Average = 0
Sum = 1
Adasum = 2
Min = 3
Max = 4
Product = 5

_hooks_are_set = False
_may_have_timeline = False


def init(comm=None, process_sets=None):
    """Enters the job this process was started in; without a launcher, a job of one rank.

    comm: None, or the list of all ranks. Some of the ranks are a process set.
    process_sets: a list of ProcessSet objects, which become usable; or None, or "dynamic".

    Does nothing but to look up `process_sets` if it was called before.
    Raises ValueError for arguments that make no sense, or if the job cannot begin: says why.
    """
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
            _core.init([sorted(wanted_set.ranks) for wanted_set in wanted])
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"Horovod initialization failed. {error}") from error
    try:
        _check_comm(comm)
        sets.resolve(wanted)
    except Exception:
        if entered:
            _core.shutdown()
        raise
    _set_hooks()
    if entered:
        _begin_timeline()


def _begin_timeline():
    global _may_have_timeline
    wanted = os.environ.get("HOROVOD_TIMELINE", "")
    _may_have_timeline = bool(wanted)
    if wanted and wanted.upper() != "DYNAMIC":
        _write_timeline(wanted)


def _write_timeline(path):
    """An error would end the job for the ranks that write none."""
    if _core.rank() != 0:
        return
    try:
        _core.start_timeline(path)
    except OSError as error:
        warnings.warn(f"the timeline cannot be written, and the job goes on without it: {error}",
                      RuntimeWarning, stacklevel=4)


def start_timeline(file_path, mark_cycles=False):
    """Rank 0 writes what it submits, and when it is done, to a file for chrome://tracing.

    It takes the place of a timeline that is written already. `mark_cycles` is accepted as in
    Horovod; there are no cycles. Warns if the file cannot be written. Raises ValueError if
    HOROVOD_TIMELINE was not set at init().
    """
    del mark_cycles
    check_initialized()
    if not _may_have_timeline:
        raise ValueError("Set HOROVOD_TIMELINE=DYNAMIC to enable dynamic timeline usage.")
    _write_timeline(os.fspath(file_path))


def stop_timeline():
    """Ends the timeline, and closes its file; nothing where none is written."""
    check_initialized()
    _core.stop_timeline()


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
        "comm has to be all ranks of the job: give the others no part with a process set, "
        "hvd.init(process_sets=[hvd.ProcessSet(ranks)])")


def _set_hooks():
    """A rank that ends by an exception tells the others so at once."""
    global _hooks_are_set
    if _hooks_are_set:
        return
    _hooks_are_set = True
    previous = sys.excepthook

    def tell(kind, error, traceback):
        previous(kind, error, traceback)
        sys.stderr.flush()
        _core.abort(f"raised {kind.__name__}: {error}")

    sys.excepthook = tell
    # The interpreter ends before the process leaves the job: what is in flight keeps its memory.
    atexit.register(handles.leave_to_the_process)


def shutdown():
    """Leaves the job, once every rank does. What is in flight fails."""
    if threads.is_rank():  # What follows belongs to all of them.
        _core.shutdown()
        return
    sets.forget()
    _core.shutdown()
    _core.stop_timeline()
    handles.forget_all()


def reform():
    """Goes on without the ranks that are lost, after the job broke. Every survivor calls it.

    Afterwards rank(), size() and so on are those of the new job. Process sets have to be added
    anew, and optimizers to be made anew.
    """
    _core.reform()
    handles.forget_all()
    sets.forget()
    sets.resolve([])


def is_initialized():
    """Whether this process is in a job."""
    return _core.is_initialized()


def _of_the_job(number):
    def get():
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
cross_rank.__doc__ = "The number of this node among those with such a local rank."
cross_size = _of_the_job(_core.cross_size)
cross_size.__doc__ = "The number of nodes with such a local rank."
is_homogeneous = _of_the_job(_core.is_homogeneous)
is_homogeneous.__doc__ = "Whether all nodes have equally many ranks."


def mpi_threads_supported():
    """Whether MPI is used, from several threads."""
    check_initialized()
    return _core.mpi_built()


def mpi_enabled():
    """Whether jobs of several processes run over MPI."""
    return _core.mpi_built()


def mpi_built():
    """Whether MPI was built in."""
    return _core.mpi_built()


def gloo_enabled():
    """False: there is no Gloo here."""
    return False


def gloo_built():
    """False: there is no Gloo here."""
    return False


def nccl_built():
    """The version of NCCL, by which tensors on GPUs go where they can: 22703 is 2.27.3. 0: its
    library cannot be loaded here. (PyTorch's, where torch was imported before.)
    """
    return _core.nccl_built()


def ddl_built():
    """False: there is no IBM DDL here."""
    return False


def ccl_built():
    """False: there is no oneCCL here."""
    return False


def cuda_built():
    """Whether tensors on NVIDIA's GPUs can be given, where there is a driver: always."""
    return _core.cuda_built()


def rocm_built():
    """Whether ROCm was built in."""
    return False
