# SPDX-License-Identifier: Apache-2.0
"""Alltoall: sends rows to each rank."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union, overload

import torch

from horovodpp import _core
from horovodpp.common import handles
from horovodpp.common.arguments import splits_of, wire
from horovodpp.common.explained import OF_A_START, explained
from horovodpp.common.handles import wait_for
from horovodpp.common.process_sets import ProcessSet, global_process_set, member
from horovodpp.torch.collectives.arguments import check_tensor, detached
from horovodpp.torch.dtypes import describe_moved, from_result


def _splits_of(tensor, splits, process_set):
    check_tensor(tensor)
    if isinstance(splits, torch.Tensor):
        if splits.dim() != 1:
            raise ValueError("alltoall expects a 1D splits tensor")
        if splits.dtype != torch.int32:
            raise ValueError("alltoall expects splits to contain 32-bit integer elements.")
        splits = splits.tolist()
    return splits_of(tensor.shape, splits, process_set)


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           splits="a list, or a tensor of int32, with a number of rows for each rank of "
                  "the set. By default the rows are shared equally.",
           returns="A handle, an int, for poll() and synchronize(), which returns the "
                   "rows, or a tuple of the rows and their numbers.",
           raises=OF_A_START,
           example="rows, counts = hvd.synchronize(hvd.alltoall_async(x, splits=[2, 3]))")
def alltoall_async(tensor: torch.Tensor, splits: Union[Sequence[int], torch.Tensor, None] = None,
                   name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> int:
    """Starts an alltoall. Returns a handle for poll() and synchronize().

    With `splits` the result is (output, received_splits), else the output alone.
    """
    core = member("Alltoall", process_set)
    rows = _splits_of(tensor, splits, process_set)
    tensor = detached(tensor)
    key = handles.claim("alltoall", name, core)
    operation = _core.alltoall(describe_moved(tensor), rows, wire(name), core)

    def finish(result, tensor):
        output, received = result
        output = from_result(output, tensor)
        if splits is None:
            return output
        return output, torch.tensor(received, dtype=torch.int32)

    return handles.add(operation, finish, tensor, key)


class HorovodAlltoall(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        member("Alltoall", process_set)
        if splits is None:
            _splits_of(tensor, None, process_set)
            splits = [tensor.shape[0] // process_set.size()] * process_set.size()
        output, received = wait_for(alltoall_async, tensor, splits, name, process_set)
        ctx.received = received
        ctx.rows = tensor.shape[0]
        ctx.process_set = process_set
        ctx.mark_non_differentiable(received)
        return output, received

    @staticmethod
    def backward(ctx, grad, _):
        grad, _ = wait_for(alltoall_async, grad.contiguous(), ctx.received,
                           process_set=ctx.process_set)
        unsent = ctx.rows - grad.shape[0]  # Rows beyond the splits were not sent.
        if unsent:
            grad = torch.cat([grad, grad.new_zeros(unsent, *grad.shape[1:])])
        return grad, None, None, None


@overload
def alltoall(tensor: torch.Tensor, splits: None = None, name: Optional[str] = None,
             process_set: ProcessSet = global_process_set) -> torch.Tensor: ...


@overload
def alltoall(tensor: torch.Tensor, splits: Union[Sequence[int], torch.Tensor],
             name: Optional[str] = None, process_set: ProcessSet = global_process_set
             ) -> Tuple[torch.Tensor, torch.Tensor]: ...


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           splits="a list, or a tensor of int32, with a number of rows for each rank of "
                  "the set. By default the rows are shared equally.",
           returns="The received rows, in rank order; with `splits` a tuple of the rows "
                   "and a tensor of int32: the number of rows from each rank.",
           example="""
               mine = hvd.alltoall(x)                        # (4, 3) -> (4, 3) on two ranks
               mine, counts = hvd.alltoall(x, splits=[1, 3])""")
def alltoall(tensor: torch.Tensor, splits: Union[Sequence[int], torch.Tensor, None] = None,
             name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> Any:
    """Sends each rank its rows of `tensor`: `splits[r]` rows to rank r, or equal parts.

    Returns the received rows, in rank order; with `splits` also the number of rows from each rank.
    """
    output, received = HorovodAlltoall.apply(tensor, splits, name, process_set)
    return output if splits is None else (output, received)
