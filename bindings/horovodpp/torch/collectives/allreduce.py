# SPDX-License-Identifier: Apache-2.0
"""Allreduce: reduces tensors over the ranks, on every rank."""
from __future__ import annotations

from typing import Iterable, List, Optional, Tuple, Type

import torch

from horovodpp import _core
from horovodpp.common import handles
from horovodpp.common.explained import OF_A_START, explained
from horovodpp.common.handles import wait_for
from horovodpp.common.process_sets import ProcessSet, global_process_set, member
from horovodpp.torch.collectives.arguments import (
    all_written_in_place, check_reduced, check_tensor, detached, is_recorded, list_of, op_of,
    written_in_place)
from horovodpp.torch.compiled import is_compiling
from horovodpp.torch.compression import Compression, Compressor
from horovodpp.torch.dtypes import (
    OPS_OF_EVERY_DTYPE, allreduce_plain, describe_reduced, from_result, from_results,
    grouped_allreduce_plain, is_on_gpu)


def _start(call, tensors, finish, name, op, factors, process_set):
    """Submits a tensor, or a list of tensors as one operation; returns a handle.

    finish: makes the caller's result of the operation's and the tensors.
    """
    core = member("Allreduce", process_set)
    if isinstance(tensors, list):
        key = None if name is None else handles.claim("grouped_allreduce", name, core)
        for tensor in tensors:
            check_reduced(tensor, op)
        described = [describe_reduced(tensor, op) for tensor in tensors]
    else:
        key = None if name is None else handles.claim("allreduce", name, core)
        check_reduced(tensors, op)
        described = describe_reduced(tensors, op)
    return handles.add(call(described, name or "", op, *factors, core), finish, tensors, key)


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks.",
           returns="A handle, an int, for poll() and synchronize(), which returns a new "
                   "tensor of the same shape.",
           raises=OF_A_START,
           example="""
               handle = hvd.allreduce_async(loss, name="loss", op=hvd.Sum)
               loss_of_all = hvd.synchronize(handle)""")
def allreduce_async(tensor: torch.Tensor, average: Optional[bool] = None,
                    name: Optional[str] = None, op: Optional[int] = None,
                    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an allreduce into a new tensor. Returns a handle for poll() and synchronize()."""
    op = op_of(average, op)
    tensor = detached(tensor)
    if is_on_gpu(tensor):  # torch's allocator does not wait for the GPU.
        return allreduce_async_(tensor.clone(memory_format=torch.contiguous_format), None, name,
                                op, prescale_factor, postscale_factor, process_set)
    return _start(_core.allreduce, tensor, from_result, name, op,
                  (prescale_factor, postscale_factor), process_set)


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks. Leave it alone until it is "
                  "synchronized.",
           returns="A handle, an int, for poll() and synchronize(), which returns the tensor.",
           raises=OF_A_START,
           example="""
               handle = hvd.allreduce_async_(p.grad, name="weight")
               hvd.synchronize(handle)                 # p.grad is the mean now.""")
def allreduce_async_(tensor: torch.Tensor, average: Optional[bool] = None,
                     name: Optional[str] = None, op: Optional[int] = None,
                     prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                     process_set: ProcessSet = global_process_set) -> int:
    """Starts an allreduce in place. Returns a handle for poll() and synchronize()."""
    if op is None or average is not None:
        op = op_of(average, op)
    if op in OPS_OF_EVERY_DTYPE:  # As _start(), for many small tensors.
        core = process_set._core if process_set is global_process_set else \
            member("Allreduce", process_set)
        handle = allreduce_plain(tensor, name, op, prescale_factor, postscale_factor, core,
                                 written_in_place)
        if handle is not None:
            return handle
    check_tensor(tensor)
    return _start(_core.allreduce_, tensor, written_in_place, name, op,
                  (prescale_factor, postscale_factor), process_set)


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks.",
           returns="The tensor.",
           example='hvd.allreduce_(counts, op=hvd.Sum, name="counts")')
def allreduce_(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None,
               op: Optional[int] = None, prescale_factor: float = 1.0,
               postscale_factor: float = 1.0,
               process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Replaces the elements by the reduction over the ranks, and returns the tensor."""
    op = op_of(average, op)
    return wait_for(allreduce_async_, tensor, None, name, op, prescale_factor,
                    postscale_factor, process_set)


class HorovodAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, op, name, prescale_factor, postscale_factor, process_set):
        ctx.arguments = (None, None, op, prescale_factor, postscale_factor, process_set)
        return wait_for(allreduce_async, tensor, None, name, *ctx.arguments[2:])

    @staticmethod
    def backward(ctx, grad):
        grad = wait_for(allreduce_async, grad.contiguous(), *ctx.arguments)
        return grad, None, None, None, None, None


@explained(tensor="contiguous, on the CPU or on an NVIDIA GPU; of a float, complex, an integer or "
                  "bool, of one shape and dtype on all ranks.",
           returns="A new tensor of the same shape and dtype.",
           example='mean = hvd.allreduce(loss.detach(), name="loss")')
def allreduce(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None,
              compression: Type[Compressor] = Compression.none, op: Optional[int] = None,
              prescale_factor: float = 1.0, postscale_factor: float = 1.0,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Returns the reduction over the ranks of `process_set`: a new tensor of the same shape.

    The gradient is reduced in the same way.
    """
    op = op_of(average, op)
    check_tensor(tensor)
    compressed, context = compression.compress(tensor)
    if is_compiling is not None and is_compiling():
        reduced = torch.ops.horovodpp.allreduce(
            compressed, name or "", op, prescale_factor, postscale_factor,
            process_set.process_set_id)
        return compression.decompress(reduced, context)
    if not is_recorded(compressed):
        reduced = wait_for(allreduce_async, compressed, None, name, op, prescale_factor,
                           postscale_factor, process_set)
        return compression.decompress(reduced, context)
    reduced = HorovodAllreduce.apply(compressed, op, name, prescale_factor, postscale_factor,
                                     process_set)
    return compression.decompress(reduced, context)


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks.",
           returns="A handle, an int, for poll() and synchronize(), which returns a tuple "
                   "of new tensors.",
           raises=OF_A_START,
           example="""
               handle = hvd.grouped_allreduce_async([a, b], name="both")
               a, b = hvd.synchronize(handle)""")
def grouped_allreduce_async(tensors: Iterable[torch.Tensor], average: Optional[bool] = None,
                            name: Optional[str] = None, op: Optional[int] = None,
                            prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                            process_set: ProcessSet = global_process_set) -> int:
    """Starts one allreduce of several tensors. Returns one handle; its result is a tuple."""
    op = op_of(average, op)
    tensors = [tensor.detach() for tensor in list_of(tensors)]
    if tensors and all(map(is_on_gpu, tensors)):
        tensors = [tensor.clone(memory_format=torch.contiguous_format) for tensor in tensors]
        return grouped_allreduce_async_(tensors, None, name, op, prescale_factor,
                                        postscale_factor, process_set)
    return _start(_core.grouped_allreduce, tensors, from_results, name, op,
                  (prescale_factor, postscale_factor), process_set)


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks. Leave them alone until they are synchronized.",
           returns="A handle, an int, for poll() and synchronize(), which returns a tuple "
                   "of the tensors.",
           raises=OF_A_START,
           example='hvd.synchronize(hvd.grouped_allreduce_async_([a, b], name="both"))')
def grouped_allreduce_async_(tensors: Iterable[torch.Tensor], average: Optional[bool] = None,
                             name: Optional[str] = None, op: Optional[int] = None,
                             prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                             process_set: ProcessSet = global_process_set) -> int:
    """Starts one allreduce of several tensors in place. Returns one handle."""
    op = op_of(average, op)
    tensors = list_of(tensors)
    if op in OPS_OF_EVERY_DTYPE:  # As _start(), for many small tensors.
        handle = grouped_allreduce_plain(tensors, name, op, prescale_factor, postscale_factor,
                                         member("Allreduce", process_set), all_written_in_place)
        if handle is not None:
            return handle
    return _start(_core.grouped_allreduce_, tensors, all_written_in_place, name, op,
                  (prescale_factor, postscale_factor), process_set)


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks.",
           returns="A tuple of the tensors.",
           example='hvd.grouped_allreduce_([a, b], op=hvd.Sum, name="both")')
def grouped_allreduce_(tensors: Iterable[torch.Tensor], average: Optional[bool] = None,
                       name: Optional[str] = None, op: Optional[int] = None,
                       prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                       process_set: ProcessSet = global_process_set) -> Tuple[torch.Tensor, ...]:
    """Reduces several tensors in place, in one operation; returns them as a tuple."""
    op = op_of(average, op)
    return wait_for(grouped_allreduce_async_, tensors, None, name, op, prescale_factor,
                    postscale_factor, process_set)


class HorovodGroupedAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, op, name, prescale_factor, postscale_factor, process_set, *tensors):
        ctx.arguments = (op, prescale_factor, postscale_factor, process_set)
        return wait_for(grouped_allreduce_async, tensors, None, name, *ctx.arguments)

    @staticmethod
    def backward(ctx, *grads):
        grads = [grad.contiguous() for grad in grads]
        reduced = wait_for(grouped_allreduce_async, grads, None, None, *ctx.arguments)
        return (None, None, None, None, None, *reduced)


@explained(tensors="several such tensors, also of different dtypes; the same number on all "
                   "ranks.",
           returns="A list of new tensors.",
           example='a, b = hvd.grouped_allreduce([a, b], name="both")')
def grouped_allreduce(tensors: Iterable[torch.Tensor], average: Optional[bool] = None,
                      name: Optional[str] = None, compression: Type[Compressor] = Compression.none,
                      op: Optional[int] = None, prescale_factor: float = 1.0,
                      postscale_factor: float = 1.0,
                      process_set: ProcessSet = global_process_set) -> List[torch.Tensor]:
    """As allreduce(), for several tensors in one operation; returns a list of new tensors."""
    op = op_of(average, op)
    compressed, contexts = zip(*(compression.compress(tensor) for tensor in list_of(tensors)))
    reduced = HorovodGroupedAllreduce.apply(op, name, prescale_factor, postscale_factor,
                                            process_set, *compressed)
    return [compression.decompress(tensor, context)
            for tensor, context in zip(reduced, contexts)]
