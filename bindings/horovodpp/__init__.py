# SPDX-License-Identifier: Apache-2.0
"""horovodpp: Horovod's programming model on a C++ library.

    import horovodpp.torch as hvd               # For PyTorch.
    horovodpp.allreduce(array)                  # For numpy and other arrays.
    horovodpp.run(function, args=(1,), np=2)    # Runs a function on two ranks.
    horovodpp.install_as_horovod()              # `import horovod.torch` now finds horovodpp.
"""
try:
    from horovodpp.version import __version__
except ImportError as error:
    raise ImportError(
        f"horovodpp's module could not be loaded: {error}. If a library is missing, install "
        "it, or build the package here: pip install --force-reinstall "
        "--no-binary horovodpp horovodpp") from error
from horovodpp.alias import install_as_horovod
from horovodpp.arrays import (
    allgather, allgather_async, allreduce, allreduce_, allreduce_async, allreduce_async_,
    alltoall, alltoall_async, arena_empty, broadcast, broadcast_, broadcast_async,
    broadcast_async_, reducescatter, reducescatter_async)
from horovodpp.captured_step import CapturedStep
from horovodpp.common import ops as _ops
from horovodpp.common.basics import (
    cross_rank, cross_size, init, is_homogeneous, is_initialized, local_rank, local_size,
    mark_step, metrics, mpi_built, rank, reform, shutdown, size)
from horovodpp.common.exceptions import HorovodInternalError, InvalidCallError
from horovodpp.common.handles import poll, synchronize, wait_in_stream
from horovodpp.common.joining import barrier, join
from horovodpp.common.ops import *  # noqa: F403
from horovodpp.common.process_sets import (
    ProcessSet, add_process_set, global_process_set, remove_process_set)
from horovodpp.common.spans import span
from horovodpp.common.threads import run_ranks
from horovodpp.runner import run

__all__ = [
    "CapturedStep", "HorovodInternalError", "InvalidCallError", "ProcessSet", "__version__",
    "add_process_set", "allgather", "allgather_async", "allreduce", "allreduce_",
    "allreduce_async", "allreduce_async_", "alltoall", "alltoall_async", "arena_empty",
    "barrier", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "cross_rank",
    "cross_size", "global_process_set", "init", "install_as_horovod", "is_homogeneous",
    "is_initialized", "join", "local_rank", "local_size", "mark_step", "metrics", "mpi_built",
    "poll", "rank", "reducescatter", "reducescatter_async", "reform", "remove_process_set",
    "run", "run_ranks", "shutdown", "size", "span", "synchronize", "wait_in_stream"]
__all__ += _ops.__all__
