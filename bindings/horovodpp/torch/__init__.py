# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training with PyTorch, under the names of horovod.torch.

    import horovodpp.torch as hvd

    hvd.init()
    optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    ...                                     # Your training loop, unchanged.

Run it with `horovodrun -np 4 python train.py`.
"""
try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("horovodpp.torch needs PyTorch, which is not installed: "
                      "pip install torch") from error

from horovodpp import __version__  # noqa: F401
from horovodpp.common.exceptions import (
    HorovodInternalError, HostsUpdatedInterrupt, InvalidCallError)
from horovodpp.common.ops import *  # noqa: F401,F403
from horovodpp.common.process_sets import (
    ProcessSet, add_process_set, global_process_set, remove_process_set)
from horovodpp.common.spans import span
from horovodpp.torch import elastic  # noqa: F401
from horovodpp.torch.arena import arena_empty
from horovodpp.torch.compression import Compression
from horovodpp.torch.functions import (
    allgather_object, broadcast_object, broadcast_optimizer_state, broadcast_parameters)
from horovodpp.torch.memory_watch import MemoryReport, MemoryWatch, memory_of_ranks
from horovodpp.torch.mpi_ops import (
    allgather, allgather_async, allreduce, allreduce_, allreduce_async, allreduce_async_,
    alltoall, alltoall_async, barrier, broadcast, broadcast_, broadcast_async, broadcast_async_,
    ccl_built, cross_rank, cross_size, cuda_built, ddl_built, gather, gather_async, gloo_built,
    gloo_enabled, grouped_allgather, grouped_allgather_async, grouped_allreduce,
    grouped_allreduce_, grouped_allreduce_async, grouped_allreduce_async_,
    grouped_reducescatter, grouped_reducescatter_async, init, is_initialized, join, local_rank,
    local_size, mark_step, metrics, mpi_built, mpi_enabled, mpi_threads_supported, nccl_built,
    poll, rank, reduce, reduce_, reduce_async, reduce_async_, reducescatter,
    reducescatter_async, reform, rocm_built, scatter, scatter_async, shutdown, size,
    sparse_allreduce_async, start_timeline, stop_timeline, synchronize, wait_in_stream)
from horovodpp.torch.optimizer import DistributedOptimizer
from horovodpp.torch.sync_batch_norm import SyncBatchNorm
from horovodpp.torch.uneven_batches import uneven
from horovodpp.torch.verification import verify

__all__ = ["Adasum", "Average", "Compression", "DistributedOptimizer", "HorovodInternalError",
    "HostsUpdatedInterrupt", "InvalidCallError", "Max", "MemoryReport", "MemoryWatch", "Min",
    "ProcessSet", "Product", "Sum", "SyncBatchNorm", "__version__", "add_process_set", "allgather",
    "allgather_async", "allgather_object", "allreduce", "allreduce_", "allreduce_async",
    "allreduce_async_", "alltoall", "alltoall_async", "arena_empty", "barrier", "broadcast",
    "broadcast_", "broadcast_async", "broadcast_async_", "broadcast_object",
    "broadcast_optimizer_state", "broadcast_parameters", "ccl_built", "cross_rank", "cross_size",
    "cuda_built", "ddl_built", "elastic", "gather", "gather_async", "global_process_set",
    "gloo_built", "gloo_enabled", "grouped_allgather", "grouped_allgather_async",
    "grouped_allreduce", "grouped_allreduce_", "grouped_allreduce_async",
    "grouped_allreduce_async_", "grouped_reducescatter", "grouped_reducescatter_async", "init",
    "is_initialized", "join", "local_rank", "local_size", "mark_step", "memory_of_ranks", "metrics",
    "mpi_built", "mpi_enabled", "mpi_threads_supported", "nccl_built", "poll", "rank", "reduce",
    "reduce_", "reduce_async", "reduce_async_", "reducescatter", "reducescatter_async", "reform",
    "remove_process_set", "rocm_built", "scatter", "scatter_async", "shutdown", "size", "span",
    "sparse_allreduce_async", "start_timeline", "stop_timeline", "synchronize", "uneven", "verify",
    "wait_in_stream"]
