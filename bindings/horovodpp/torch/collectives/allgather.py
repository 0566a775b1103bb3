# SPDX-License-Identifier: Apache-2.0
"""Allgather: concatenates the ranks' tensors on every rank."""
from __future__ import annotations

from typing import Iterable, Optional, Tuple

import torch

from horovodpp import _core
from horovodpp.common import handles
from horovodpp.common.arguments import wire
from horovodpp.common.explained import OF_A_CALL, OF_A_START, explained
from horovodpp.common.ops import Average
from horovodpp.common.handles import wait_for
from horovodpp.common.process_sets import ProcessSet, global_process_set, member
from horovodpp.torch.collectives.allreduce import allreduce_async, grouped_allreduce_async
from horovodpp.torch.collectives.arguments import check_tensor, detached, list_of
from horovodpp.torch.dtypes import describe_moved, from_result, from_results


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           returns="A handle, an int, for poll() and synchronize(), which returns a new "
                   "tensor with the rows of all ranks.",
           raises=OF_A_START,
           example='everything = hvd.synchronize(hvd.allgather_async(rows, name="rows"))')
def allgather_async(tensor: torch.Tensor, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an allgather. Returns a handle for poll() and synchronize()."""
    core = member("Allgather", process_set)
    tensor = detached(tensor)
    key = handles.claim("allgather", name, core)
    operation = _core.allgather(describe_moved(tensor), wire(name), core)
    return handles.add(operation, from_result, tensor, key)


class HorovodAllgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, process_set):
        ctx.rows = tensor.shape[0]
        ctx.process_set = process_set
        return wait_for(allgather_async, tensor, name, process_set)

    @staticmethod
    def backward(ctx, grad):
        grad = wait_for(allreduce_async, grad.contiguous(), op=Average,
                        process_set=ctx.process_set)
        first, = _rows_before([ctx.rows], ctx.process_set)
        return grad.narrow(0, first, ctx.rows), None, None


def _rows_before(rows, process_set):
    """For each tensor, the number of rows on lower ranks, given this rank's `rows`."""
    counts = wait_for(allgather_async, torch.tensor([rows], dtype=torch.int64),
                      process_set=process_set)
    return counts[:process_set.rank()].sum(0).tolist()


def _check_gathered(tensor):
    check_tensor(tensor)
    if tensor.dim() == 0:
        raise IndexError("allgather concatenates along the first dimension, which a scalar "
                         "does not have: use tensor.reshape(1)")


@explained(tensor="contiguous, of any dtype, with at least one dimension. The first "
                  "dimension may differ between ranks, the others not.",
           returns="A new tensor, whose first dimension is the sum of the ranks'.",
           raises={**OF_A_CALL, "IndexError": "the tensor is a scalar."},
           example="predictions = hvd.allgather(predictions)      # (n, 10) -> (n of all "
                   "ranks, 10)")
def allgather(tensor: torch.Tensor, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Returns the ranks' tensors, concatenated along the first dimension in rank order.

    The ranks' first dimensions may differ. The gradient is this rank's rows of the mean of the
    ranks' gradients.
    """
    _check_gathered(tensor)
    return HorovodAllgather.apply(tensor, name, process_set)


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks.",
           returns="A handle, an int, for poll() and synchronize(), which returns a tuple "
                   "of new tensors.",
           raises=OF_A_START,
           example='x, y = hvd.synchronize(hvd.grouped_allgather_async([x, y], name="both"))')
def grouped_allgather_async(tensors: Iterable[torch.Tensor], name: Optional[str] = None,
                            process_set: ProcessSet = global_process_set) -> int:
    """Starts one allgather of several tensors. Returns one handle; its result is a tuple."""
    core = member("Allgather", process_set)
    tensors = [tensor.detach() for tensor in list_of(tensors)]
    key = handles.claim("grouped_allgather", name, core)
    operation = _core.grouped_allgather([describe_moved(tensor) for tensor in tensors],
                                        wire(name), core)
    return handles.add(operation, from_results, tensors, key)


class HorovodGroupedAllgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        ctx.rows = [tensor.shape[0] for tensor in tensors]
        ctx.process_set = process_set
        return wait_for(grouped_allgather_async, tensors, name, process_set)

    @staticmethod
    def backward(ctx, *grads):
        grads = wait_for(grouped_allreduce_async, [grad.contiguous() for grad in grads],
                         op=Average, process_set=ctx.process_set)
        firsts = _rows_before(ctx.rows, ctx.process_set)
        return (None, None, *(grad.narrow(0, first, rows)
                              for grad, first, rows in zip(grads, firsts, ctx.rows)))


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks.",
           returns="A tuple of new tensors.",
           raises={**OF_A_CALL, "IndexError": "a tensor is a scalar."},
           example="x, y = hvd.grouped_allgather([x, y])")
def grouped_allgather(tensors: Iterable[torch.Tensor], name: Optional[str] = None,
                      process_set: ProcessSet = global_process_set) -> Tuple[torch.Tensor, ...]:
    """As allgather(), for several tensors; returns a tuple."""
    tensors = list_of(tensors)
    for tensor in tensors:
        _check_gathered(tensor)
    return HorovodGroupedAllgather.apply(name, process_set, *tensors)
