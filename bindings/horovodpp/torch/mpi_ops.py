# SPDX-License-Identifier: Apache-2.0
"""The collectives on torch tensors, under Horovod's names.

A name that ends in _ works in place. A name with _async returns a handle for poll() and
synchronize() at once. Collectives are matched across ranks by name; without a name, by the order of
calls. Ranks may submit in different orders.

All of them raise:
  ValueError            the arguments make no sense here: dtype, memory that is not contiguous, a
                        name that is in flight on this rank, a root or splits that do not fit, a
                        process set that this rank is not in
  TypeError             the process set was not added, or was removed
  HorovodInternalError  the job broke, or a rank left it; names the rank
  InvalidCallError      the ranks disagree: names the ranks and the difference; or this rank is in
                        no job, or has joined. It is also a HorovodInternalError
"""
from __future__ import annotations

from horovodpp.common import joining
from horovodpp.common.basics import (  # noqa: F401  (Horovod has them here, too.)
    ccl_built, cross_rank, cross_size, cuda_built, ddl_built, gloo_built, gloo_enabled, init,
    is_homogeneous, is_initialized, local_rank, local_size, mark_step, metrics, mpi_built,
    mpi_enabled, mpi_threads_supported, nccl_built, rank, reform, rocm_built, shutdown, size,
    start_timeline, stop_timeline)
from horovodpp.common.exceptions import HorovodInternalError  # noqa: F401
from horovodpp.common.explained import explained
from horovodpp.common.handles import poll, synchronize, wait_in_stream  # noqa: F401
from horovodpp.common.joining import barrier  # noqa: F401
from horovodpp.common.ops import *  # noqa: F401,F403
from horovodpp.common.process_sets import (  # noqa: F401
    ProcessSet, add_process_set, global_process_set, remove_process_set)
from horovodpp.torch.collectives.allgather import (  # noqa: F401
    HorovodAllgather, HorovodGroupedAllgather, allgather, allgather_async, grouped_allgather,
    grouped_allgather_async)
from horovodpp.torch.collectives.allreduce import (  # noqa: F401
    HorovodAllreduce, HorovodGroupedAllreduce, allreduce, allreduce_, allreduce_async,
    allreduce_async_, grouped_allreduce, grouped_allreduce_, grouped_allreduce_async,
    grouped_allreduce_async_)
from horovodpp.torch.collectives.alltoall import (  # noqa: F401
    HorovodAlltoall, alltoall, alltoall_async)
from horovodpp.torch.collectives.broadcast import (  # noqa: F401
    HorovodBroadcast, broadcast, broadcast_, broadcast_async, broadcast_async_)
from horovodpp.torch.collectives.reducescatter import (  # noqa: F401
    HorovodGroupedReducescatter, HorovodReducescatter, grouped_reducescatter,
    grouped_reducescatter_async, reducescatter, reducescatter_async)
from horovodpp.torch.collectives.rooted import (  # noqa: F401
    gather, gather_async, reduce, reduce_, reduce_async, reduce_async_, scatter, scatter_async)
from horovodpp.torch.collectives.sparse_allreduce import sparse_allreduce_async  # noqa: F401


@explained(device="accepted as in Horovod.",
           returns="The rank that joined last.",
           example="last = hvd.join()                             # After the loop over "
                   "batches.")
def join(device: int = -1, process_set: ProcessSet = global_process_set) -> int:
    """Announces that this rank has no more data. Waits for all ranks; returns the last to join.

    Until then this rank takes part in the others' reductions, with values that change nothing.
    `device` is accepted as in Horovod.
    """
    del device
    return joining.join(process_set)
