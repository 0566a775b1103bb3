# SPDX-License-Identifier: Apache-2.0
"""Reducescatter: a reduction of which each rank gets its rows."""
from __future__ import annotations

from typing import Iterable, List, Optional, Type

import torch

from horovodpp import _core
from horovodpp.common import handles
from horovodpp.common.arguments import check_scattered, wire
from horovodpp.common.explained import OF_A_START, explained
from horovodpp.common.ops import Average, Sum
from horovodpp.common.handles import wait_for
from horovodpp.common.process_sets import ProcessSet, global_process_set, member
from horovodpp.torch.collectives.allgather import allgather_async, grouped_allgather_async
from horovodpp.torch.collectives.arguments import check_tensor, detached, list_of
from horovodpp.torch.compression import Compression, Compressor
from horovodpp.torch.dtypes import describe_reduced, from_result, from_results


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks, with at least one "
                  "dimension.",
           returns="A handle, an int, for poll() and synchronize(), which returns this "
                   "rank's rows.",
           raises=OF_A_START,
           example="mine = hvd.synchronize(hvd.reducescatter_async(x, op=hvd.Sum))")
def reducescatter_async(tensor: torch.Tensor, name: Optional[str] = None, op: int = Average,
                        process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
                        postscale_factor: float = 1.0) -> int:
    """Starts a reducescatter. Returns a handle for poll() and synchronize()."""
    core = member("Reducescatter", process_set)
    tensor = detached(tensor)
    check_scattered(tensor.dim(), op)
    key = handles.claim("reducescatter", name, core)
    operation = _core.reducescatter(describe_reduced(tensor, op), wire(name), op,
                                    prescale_factor, postscale_factor, core)
    return handles.add(operation, from_result, tensor, key)


def _gradient_before_scattering(grad, op, prescale_factor, postscale_factor, process_set):
    factor = prescale_factor * postscale_factor
    if op == Sum:
        factor *= process_set.size()
    return (grad * factor if factor != 1 else grad).contiguous()


class HorovodReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, op, process_set, prescale_factor, postscale_factor):
        ctx.arguments = (op, prescale_factor, postscale_factor, process_set)
        return wait_for(reducescatter_async, tensor, name, op, process_set, prescale_factor,
                        postscale_factor)

    @staticmethod
    def backward(ctx, grad):
        grad = _gradient_before_scattering(grad, *ctx.arguments)
        grad = wait_for(allgather_async, grad, process_set=ctx.arguments[-1])
        return grad, None, None, None, None, None


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks, with at least one "
                  "dimension.",
           returns="This rank's rows of the reduction, a new tensor.",
           example="mine = hvd.reducescatter(x)                   # (5, 3) -> (3, 3) on "
                   "rank 0 of two")
def reducescatter(tensor: torch.Tensor, name: Optional[str] = None,
                  compression: Type[Compressor] = Compression.none, op: int = Average,
                  process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
                  postscale_factor: float = 1.0) -> torch.Tensor:
    """Reduces over the ranks, and returns this rank's rows: a new tensor.

    Of d rows, rank r of n ranks gets d // n rows, and one more if r < d % n.
    """
    check_tensor(tensor)
    compressed, context = compression.compress(tensor)
    reduced = HorovodReducescatter.apply(compressed, name, op, process_set, prescale_factor,
                                         postscale_factor)
    return compression.decompress(reduced, context)


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks.",
           returns="A handle, an int, for poll() and synchronize(), which returns a tuple "
                   "of this rank's rows.",
           raises=OF_A_START,
           example="a, b = hvd.synchronize(hvd.grouped_reducescatter_async([a, b]))")
def grouped_reducescatter_async(tensors: Iterable[torch.Tensor], name: Optional[str] = None,
                                op: int = Average, process_set: ProcessSet = global_process_set,
                                prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> int:
    """Starts one reducescatter of several tensors. Returns one handle; its result is a tuple."""
    core = member("Reducescatter", process_set)
    tensors = [tensor.detach() for tensor in list_of(tensors)]
    for tensor in tensors:
        check_scattered(tensor.dim(), op)
    key = handles.claim("grouped_reducescatter", name, core)
    operation = _core.grouped_reducescatter([describe_reduced(tensor, op) for tensor in tensors],
                                            wire(name), op, prescale_factor,
                                            postscale_factor, core)
    return handles.add(operation, from_results, tensors, key)


class HorovodGroupedReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, process_set, prescale_factor, postscale_factor, *tensors):
        ctx.arguments = (op, prescale_factor, postscale_factor, process_set)
        return wait_for(grouped_reducescatter_async, tensors, name, op, process_set,
                        prescale_factor, postscale_factor)

    @staticmethod
    def backward(ctx, *grads):
        grads = [_gradient_before_scattering(grad, *ctx.arguments) for grad in grads]
        gathered = wait_for(grouped_allgather_async, grads, process_set=ctx.arguments[-1])
        return (None, None, None, None, None, *gathered)


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks.",
           returns="A list of this rank's rows.",
           example="a, b = hvd.grouped_reducescatter([a, b])")
def grouped_reducescatter(tensors: Iterable[torch.Tensor], name: Optional[str] = None,
                          compression: Type[Compressor] = Compression.none, op: int = Average,
                          process_set: ProcessSet = global_process_set,
                          prescale_factor: float = 1.0,
                          postscale_factor: float = 1.0) -> List[torch.Tensor]:
    """As reducescatter(), for several tensors; returns a list."""
    compressed, contexts = zip(*(compression.compress(tensor) for tensor in list_of(tensors)))
    reduced = HorovodGroupedReducescatter.apply(name, op, process_set, prescale_factor,
                                                postscale_factor, *compressed)
    return [compression.decompress(tensor, context)
            for tensor, context in zip(reduced, contexts)]
