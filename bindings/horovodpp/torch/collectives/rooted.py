# SPDX-License-Identifier: Apache-2.0
"""Collectives for one rank, or from one: reduce, gather and scatter. They have no gradients.

`root_rank` is a rank of the job, also with a process set.
"""
from __future__ import annotations

from typing import Optional, Sequence, Union

import torch

from horovodpp import _core
from horovodpp.common import basics, handles
from horovodpp.common.arguments import check_root, check_split_rows, wire
from horovodpp.common.explained import OF_A_START, explained
from horovodpp.common.ops import Average
from horovodpp.common.handles import wait_for
from horovodpp.common.process_sets import ProcessSet, global_process_set, member
from horovodpp.torch.collectives.arguments import (
    check_reduced, check_tensor, detached, written_in_place)
from horovodpp.torch.dtypes import describe_moved, describe_reduced, from_result


def _member(what, root_rank, process_set):
    core = member(what, process_set)
    check_root(root_rank, process_set, what.lower())
    return core


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks.",
           returns="A handle, an int, for poll() and synchronize(), which returns the "
                   "reduction on the root, and an empty tensor elsewhere.",
           raises=OF_A_START,
           example="total = hvd.synchronize(hvd.reduce_async(x, root_rank=0, op=hvd.Sum))")
def reduce_async(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                 op: int = Average, process_set: ProcessSet = global_process_set,
                 prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> int:
    """Reduces for rank `root_rank`; the others get an empty tensor. Returns a handle."""
    core = _member("Reduce", root_rank, process_set)
    tensor = detached(tensor)
    check_reduced(tensor, op)
    key = handles.claim("reduce", name, core)
    described = describe_reduced(tensor, op)
    operation = _core.reduce(described, root_rank, wire(name), op, prescale_factor,
                             postscale_factor, core)
    return handles.add(operation, from_result, tensor, key)


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks.",
           returns="The reduction on the root; elsewhere a tensor without rows.",
           example="total = hvd.reduce(loss, root_rank=0, op=hvd.Sum)")
def reduce(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None, op: int = Average,
           process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
           postscale_factor: float = 1.0) -> torch.Tensor:
    """Reduces for rank `root_rank`; the others get an empty tensor."""
    return wait_for(reduce_async, tensor, root_rank, name, op, process_set, prescale_factor,
                    postscale_factor)


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks.",
           returns="A handle, an int, for poll() and synchronize(), which returns the tensor.",
           raises=OF_A_START,
           example="hvd.synchronize(hvd.reduce_async_(x, root_rank=0))")
def reduce_async_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                  op: int = Average, process_set: ProcessSet = global_process_set,
                  prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> int:
    """Replaces the tensor of rank `root_rank` by the reduction; the others keep theirs.

    Returns a handle.
    """
    core = _member("Reduce", root_rank, process_set)
    check_tensor(tensor)
    check_reduced(tensor, op)
    key = handles.claim("reduce", name, core)
    described = describe_reduced(tensor, op)
    operation = _core.reduce_(described, root_rank, wire(name), op, prescale_factor,
                              postscale_factor, core)
    return handles.add(operation, written_in_place, tensor, key)


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks.",
           returns="The tensor.",
           example="hvd.reduce_(x, root_rank=0, op=hvd.Max)")
def reduce_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None, op: int = Average,
            process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
            postscale_factor: float = 1.0) -> torch.Tensor:
    """As reduce_async_(), and returns the tensor."""
    return wait_for(reduce_async_, tensor, root_rank, name, op, process_set, prescale_factor,
                    postscale_factor)


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           returns="A handle, an int, for poll() and synchronize(), which returns the rows "
                   "of all ranks on the root, and none elsewhere.",
           raises=OF_A_START,
           example="rows = hvd.synchronize(hvd.gather_async(x, root_rank=0))")
def gather_async(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                 process_set: ProcessSet = global_process_set) -> int:
    """Concatenates the ranks' rows on rank `root_rank`; the others get none. Returns a handle.

    The tensors may differ in the first dimension.
    """
    core = _member("Gather", root_rank, process_set)
    tensor = detached(tensor)
    key = handles.claim("gather", name, core)
    operation = _core.gather(describe_moved(tensor), root_rank, wire(name), core)
    return handles.add(operation, from_result, tensor, key)


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           returns="The rows of all ranks on the root; elsewhere a tensor without rows.",
           example="rows = hvd.gather(predictions, root_rank=0)")
def gather(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
           process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Concatenates the ranks' rows on rank `root_rank`; the others get none."""
    return wait_for(gather_async, tensor, root_rank, name, process_set)


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           splits="the number of rows for each rank, a list on the root; the others give "
                  "none. By default the rows are shared equally.",
           returns="A handle, an int, for poll() and synchronize(), which returns this "
                   "rank's rows.",
           raises=OF_A_START,
           example="mine = hvd.synchronize(hvd.scatter_async(x, root_rank=0, splits=[1, 3]))")
def scatter_async(tensor: torch.Tensor, root_rank: int,
                  splits: Union[Sequence[int], torch.Tensor, None] = None,
                  name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> int:
    """Sends each rank its rows of the tensor of rank `root_rank`; returns a handle.

    Rank r gets the root's `splits[r]` rows. Without splits, of d rows rank r of n ranks gets d //
    n, and one more if r < d % n. The tensors of the others give only the shape of a row: they may
    have no rows.
    """
    core = _member("Scatter", root_rank, process_set)
    tensor = detached(tensor)
    is_given = splits is not None and basics.rank() == root_rank
    rows = check_split_rows(tensor.shape, splits, process_set) if is_given else []
    key = handles.claim("scatter", name, core)
    operation = _core.scatter(describe_moved(tensor), root_rank, rows, wire(name), core)
    return handles.add(operation, from_result, tensor, key)


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           splits="the number of rows for each rank, a list on the root; the others give "
                  "none. By default the rows are shared equally.",
           returns="This rank's rows, a new tensor.",
           example="mine = hvd.scatter(x, root_rank=0)")
def scatter(tensor: torch.Tensor, root_rank: int,
            splits: Union[Sequence[int], torch.Tensor, None] = None, name: Optional[str] = None,
            process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """As scatter_async(), and returns this rank's rows."""
    return wait_for(scatter_async, tensor, root_rank, splits, name, process_set)
