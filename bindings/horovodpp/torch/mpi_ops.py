# SPDX-License-Identifier: Apache-2.0
"""The collectives on tensors of torch, under Horovod's names.

A name that ends in _ works in place; with _async it returns a number for poll() and
synchronize() at once. Collectives are matched across ranks by name; without a name, by the order of
calls. Ranks may submit in different orders.

Raises, all of them:
  ValueError            the arguments make no sense here: dtype, memory that is not contiguous, a
                        name that is in flight on this rank, a root or splits that do not fit, a
                        process set that this rank is not in
  TypeError             the process set was not added, or was removed
  HorovodInternalError  no job, or it ended or broke; or the ranks disagree: says who and how
"""
import warnings

import torch

from horovodpp import _core
from horovodpp.common import basics, handles
from horovodpp.common.basics import (  # noqa: F401  (Horovod has them here, too.)
    Adasum, Average, Max, Min, Product, Sum, ccl_built, cross_rank, cross_size, cuda_built,
    ddl_built, gloo_built, gloo_enabled, init, is_homogeneous, is_initialized, local_rank,
    local_size, mpi_built, mpi_enabled, mpi_threads_supported, nccl_built, rank, reform,
    rocm_built, shutdown, size, start_timeline, stop_timeline)
from horovodpp.common.exceptions import HorovodInternalError
from horovodpp.common.handles import poll, synchronize
from horovodpp.common.process_sets import core_of, global_process_set, member
from horovodpp.common.splits import splits_of
from horovodpp.torch.compression import Compression
from horovodpp.torch.dtypes import describe, describe_moved, from_result

_FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


# --- What the arguments come to ---

def _op_of(average, op):
    if op is not None:
        if average is not None:
            raise ValueError("The op parameter supersedes average. Please provide only one of "
                             "them.")
        return op
    if average is None:
        return Average
    warnings.warn("Parameter `average` has been replaced with `op` and will be removed in v1.0",
                  DeprecationWarning, stacklevel=3)
    return Average if average else Sum


def _wire(what, name):
    return f"{what}.{name}" if name else ""


def _check_reduced(tensor, op):
    if op == Adasum and tensor.dtype not in _FLOATING:
        raise ValueError(f"Tensor type {tensor.type()} is not supported.")


def _list_of(tensors):
    tensors = list(tensors)
    if not tensors:
        raise ValueError("a group of no tensors: give it at least one")
    return tensors


def _write_nothing(tensor):
    """What increment_version() does, for torch 1.13, which has none."""
    with torch.no_grad():
        tensor.detach().reshape(-1)[:0].zero_()


_increment_version = getattr(torch.autograd.graph, "increment_version", _write_nothing)


def _in_place(tensor):
    """A tensor that was written into behind torch's back."""
    _increment_version(tensor)
    return tensor


def _is_recorded(*tensors):
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


# --- allreduce ---

def allreduce_async(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                    postscale_factor=1.0, process_set=global_process_set):
    """Reduces over the ranks of `process_set`, into a new tensor; returns a handle."""
    op = _op_of(average, op)
    core = member("Allreduce", process_set)
    _check_reduced(tensor, op)
    tensor = tensor.detach()
    operation = _core.allreduce(describe(tensor), _wire("allreduce", name), op, prescale_factor,
                                postscale_factor, core)
    return handles.add(operation, lambda result: from_result(result, tensor), tensor)


def allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                     postscale_factor=1.0, process_set=global_process_set):
    """Reduces in place; returns a handle."""
    op = _op_of(average, op)
    core = member("Allreduce", process_set)
    _check_reduced(tensor, op)
    operation = _core.allreduce_(describe(tensor), _wire("allreduce", name), op, prescale_factor,
                                 postscale_factor, core)
    return handles.add(operation, lambda _: _in_place(tensor), tensor)


def allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0,
               postscale_factor=1.0, process_set=global_process_set):
    """Reduces in place, and returns the tensor."""
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor,
                                        postscale_factor, process_set))


class HorovodAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, op, name, prescale_factor, postscale_factor, process_set):
        ctx.arguments = (None, None, op, prescale_factor, postscale_factor, process_set)
        return synchronize(allreduce_async(tensor, None, name, *ctx.arguments[2:]))

    @staticmethod
    def backward(ctx, grad):
        grad = synchronize(allreduce_async(grad.contiguous(), *ctx.arguments))
        return grad, None, None, None, None, None


def allreduce(tensor, average=None, name=None, compression=Compression.none, op=None,
              prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
    """Reduces into a new tensor. Its gradient is reduced likewise."""
    op = _op_of(average, op)
    compressed, context = compression.compress(tensor)
    if not _is_recorded(compressed):
        reduced = synchronize(allreduce_async(compressed, None, name, op, prescale_factor,
                                              postscale_factor, process_set))
        return compression.decompress(reduced, context)
    reduced = HorovodAllreduce.apply(compressed, op, name, prescale_factor, postscale_factor,
                                     process_set)
    return compression.decompress(reduced, context)


def grouped_allreduce_async(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                            postscale_factor=1.0, process_set=global_process_set):
    """Reduces several tensors as one submission; returns a handle for all of them."""
    op = _op_of(average, op)
    core = member("Allreduce", process_set)
    tensors = [tensor.detach() for tensor in _list_of(tensors)]
    for tensor in tensors:
        _check_reduced(tensor, op)
    operation = _core.grouped_allreduce([describe(tensor) for tensor in tensors],
                                        _wire("grouped_allreduce", name), op, prescale_factor,
                                        postscale_factor, core)
    return handles.add(operation, lambda results: tuple(
        from_result(result, tensor) for result, tensor in zip(results, tensors)), tensors)


def grouped_allreduce_async_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                             postscale_factor=1.0, process_set=global_process_set):
    """Reduces several tensors in place, as one submission; returns a handle."""
    op = _op_of(average, op)
    core = member("Allreduce", process_set)
    tensors = _list_of(tensors)
    for tensor in tensors:
        _check_reduced(tensor, op)
    operation = _core.grouped_allreduce_([describe(tensor) for tensor in tensors],
                                         _wire("grouped_allreduce", name), op, prescale_factor,
                                         postscale_factor, core)
    return handles.add(operation, lambda _: tuple(_in_place(tensor) for tensor in tensors),
                       tensors)


def grouped_allreduce_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                       postscale_factor=1.0, process_set=global_process_set):
    """Reduces several tensors in place; returns them as a tuple."""
    return synchronize(grouped_allreduce_async_(tensors, average, name, op, prescale_factor,
                                                postscale_factor, process_set))


class HorovodGroupedAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, op, name, prescale_factor, postscale_factor, process_set, *tensors):
        ctx.arguments = (op, prescale_factor, postscale_factor, process_set)
        return synchronize(grouped_allreduce_async(tensors, None, name, *ctx.arguments))

    @staticmethod
    def backward(ctx, *grads):
        grads = [grad.contiguous() for grad in grads]
        reduced = synchronize(grouped_allreduce_async(grads, None, None, *ctx.arguments))
        return (None, None, None, None, None, *reduced)


def grouped_allreduce(tensors, average=None, name=None, compression=Compression.none, op=None,
                      prescale_factor=1.0, postscale_factor=1.0,
                      process_set=global_process_set):
    """Reduces several tensors into new ones, a list. Their gradients are reduced likewise."""
    op = _op_of(average, op)
    compressed, contexts = zip(*(compression.compress(tensor) for tensor in _list_of(tensors)))
    reduced = HorovodGroupedAllreduce.apply(op, name, prescale_factor, postscale_factor,
                                            process_set, *compressed)
    return [compression.decompress(tensor, context)
            for tensor, context in zip(reduced, contexts)]


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Gathers the entries of a sparse tensor; returns a function that waits for the result.

    The result is not coalesced. With Average its values are divided by the number of ranks; any
    other op adds.
    """
    core_of(process_set)
    entries = tensor if tensor.is_coalesced() else tensor.coalesce()
    indices = allgather_async(entries.indices().transpose(0, 1).contiguous(),
                              name=f"{name}.indices", process_set=process_set)
    values = allgather_async(entries.values().contiguous(), name=f"{name}.values",
                             process_set=process_set)

    def wait():
        all_values = synchronize(values)
        all_indices = synchronize(indices)
        if op == Average:
            all_values = all_values / process_set.size()
        return torch.sparse_coo_tensor(all_indices.transpose(0, 1), all_values, tensor.shape)

    return wait


# --- allgather ---

def allgather_async(tensor, name=None, process_set=global_process_set):
    """Concatenates the ranks' tensors along the first dimension; returns a handle."""
    core = member("Allgather", process_set)
    tensor = tensor.detach()
    operation = _core.allgather(describe_moved(tensor), _wire("allgather", name), core)
    return handles.add(operation, lambda result: from_result(result, tensor), tensor)


class HorovodAllgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, process_set):
        ctx.rows = tensor.shape[0]
        ctx.process_set = process_set
        return synchronize(allgather_async(tensor, name, process_set))

    @staticmethod
    def backward(ctx, grad):
        grad = synchronize(allreduce_async(grad.contiguous(), op=Average,
                                           process_set=ctx.process_set))
        first, = _rows_before([ctx.rows], ctx.process_set)
        return grad.narrow(0, first, ctx.rows), None, None


def _rows_before(rows, process_set):
    """How many rows of each tensor the ranks before this one have, where it has `rows`."""
    counts = synchronize(allgather_async(torch.tensor([rows], dtype=torch.int64),
                                         process_set=process_set))
    return counts[:process_set.rank()].sum(0).tolist()


def _check_gathered(tensor):
    if tensor.dim() == 0:
        raise IndexError("allgather concatenates along the first dimension, and a scalar has "
                         "none: use tensor.reshape(1)")


def allgather(tensor, name=None, process_set=global_process_set):
    """Concatenates the ranks' tensors along the first dimension, in rank order.

    They may differ in the first dimension. The gradient is this rank's rows of the ranks' mean.
    """
    _check_gathered(tensor)
    return HorovodAllgather.apply(tensor, name, process_set)


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    """Gathers several tensors as one submission; returns a handle for all of them."""
    core = member("Allgather", process_set)
    tensors = [tensor.detach() for tensor in _list_of(tensors)]
    operation = _core.grouped_allgather([describe_moved(tensor) for tensor in tensors],
                                        _wire("grouped_allgather", name), core)
    return handles.add(operation, lambda results: tuple(
        from_result(result, tensor) for result, tensor in zip(results, tensors)), tensors)


class HorovodGroupedAllgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        ctx.rows = [tensor.shape[0] for tensor in tensors]
        ctx.process_set = process_set
        return synchronize(grouped_allgather_async(tensors, name, process_set))

    @staticmethod
    def backward(ctx, *grads):
        grads = synchronize(grouped_allreduce_async([grad.contiguous() for grad in grads],
                                                    op=Average, process_set=ctx.process_set))
        firsts = _rows_before(ctx.rows, ctx.process_set)
        return (None, None, *(grad.narrow(0, first, rows)
                              for grad, first, rows in zip(grads, firsts, ctx.rows)))


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """As allgather(), of several tensors; returns a tuple."""
    tensors = _list_of(tensors)
    for tensor in tensors:
        _check_gathered(tensor)
    return HorovodGroupedAllgather.apply(name, process_set, *tensors)


# --- broadcast ---

def _check_root(root_rank, process_set):
    ranks = process_set.ranks
    if ranks is not None and root_rank not in ranks:
        raise ValueError(f"broadcast received invalid root rank {root_rank} for provided process "
                         "set")


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Copies the tensor of rank `root_rank` (of the job) into a new one; returns a handle."""
    core = member("Broadcast", process_set)
    _check_root(root_rank, process_set)
    tensor = tensor.detach()
    operation = _core.broadcast(describe_moved(tensor), root_rank, _wire("broadcast", name), core)
    return handles.add(operation, lambda result: from_result(result, tensor), tensor)


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """Replaces the tensor by that of rank `root_rank`; returns a handle."""
    core = member("Broadcast", process_set)
    _check_root(root_rank, process_set)
    operation = _core.broadcast_(describe_moved(tensor), root_rank, _wire("broadcast", name),
                                 core)
    return handles.add(operation, lambda _: _in_place(tensor), tensor)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """Replaces the tensor by that of rank `root_rank`, and returns it."""
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))


class HorovodBroadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.root_rank = root_rank
        ctx.process_set = process_set
        return synchronize(broadcast_async(tensor, root_rank, name, process_set))

    @staticmethod
    def backward(ctx, grad):
        grad = synchronize(allreduce_async(grad.contiguous(), op=Average,
                                           process_set=ctx.process_set))
        if basics.rank() != ctx.root_rank:
            grad = torch.zeros_like(grad)
        return grad, None, None, None


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """The tensor of rank `root_rank`. The gradient is the ranks' mean there, and 0 elsewhere."""
    return HorovodBroadcast.apply(tensor, root_rank, name, process_set)


# --- alltoall ---

def _splits_of(tensor, splits, process_set):
    if isinstance(splits, torch.Tensor):
        if splits.dim() != 1:
            raise ValueError("alltoall expects a 1D splits tensor")
        if splits.dtype != torch.int32:
            raise ValueError("alltoall expects splits to contain 32-bit integer elements.")
        splits = splits.tolist()
    return splits_of(tensor.shape, splits, process_set)


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """Sends each rank its rows, and receives those sent here; returns a handle.

    With `splits` the result is (output, received_splits), else the output alone.
    """
    core = member("Alltoall", process_set)
    rows = _splits_of(tensor, splits, process_set)
    tensor = tensor.detach()
    operation = _core.alltoall(describe_moved(tensor), rows, _wire("alltoall", name), core)

    def finish(result):
        output, received = result
        output = from_result(output, tensor)
        if splits is None:
            return output
        return output, torch.tensor(received, dtype=torch.int32)

    return handles.add(operation, finish, tensor)


class HorovodAlltoall(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        member("Alltoall", process_set)
        if splits is None:
            _splits_of(tensor, None, process_set)
            splits = [tensor.shape[0] // process_set.size()] * process_set.size()
        output, received = synchronize(alltoall_async(tensor, splits, name, process_set))
        ctx.received = received
        ctx.rows = tensor.shape[0]
        ctx.process_set = process_set
        ctx.mark_non_differentiable(received)
        return output, received

    @staticmethod
    def backward(ctx, grad, _):
        grad, _ = synchronize(alltoall_async(grad.contiguous(), ctx.received,
                                             process_set=ctx.process_set))
        unsent = ctx.rows - grad.shape[0]  # Rows that splits did not name went nowhere.
        if unsent:
            grad = torch.cat([grad, grad.new_zeros(unsent, *grad.shape[1:])])
        return grad, None, None, None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """Sends each rank its rows of `tensor`: `splits[r]` of them to rank r, or equally many.

    Returns the rows received, in rank order; with `splits` also how many came from each rank.
    """
    output, received = HorovodAlltoall.apply(tensor, splits, name, process_set)
    return output if splits is None else (output, received)


# --- reducescatter ---

def _check_scattered(tensor, op):
    if tensor.dim() == 0:
        raise ValueError("Reducescatter does not support scalar inputs")
    if op == Adasum:
        raise ValueError("Reducescatter supports every op but Adasum")


def reducescatter_async(tensor, name=None, op=Average, process_set=global_process_set,
                        prescale_factor=1.0, postscale_factor=1.0):
    """Reduces, and leaves each rank its part of the rows; returns a handle."""
    core = member("Reducescatter", process_set)
    _check_scattered(tensor, op)
    tensor = tensor.detach()
    operation = _core.reducescatter(describe(tensor), _wire("reducescatter", name), op,
                                    prescale_factor, postscale_factor, core)
    return handles.add(operation, lambda result: from_result(result, tensor), tensor)


def _gradient_before_scattering(grad, op, prescale_factor, postscale_factor, process_set):
    factor = prescale_factor * postscale_factor
    if op == Sum:
        factor *= process_set.size()
    return (grad * factor if factor != 1 else grad).contiguous()


class HorovodReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, op, process_set, prescale_factor, postscale_factor):
        ctx.arguments = (op, prescale_factor, postscale_factor, process_set)
        return synchronize(reducescatter_async(tensor, name, op, process_set, prescale_factor,
                                               postscale_factor))

    @staticmethod
    def backward(ctx, grad):
        grad = _gradient_before_scattering(grad, *ctx.arguments)
        grad = synchronize(allgather_async(grad, process_set=ctx.arguments[-1]))
        return grad, None, None, None, None, None


def reducescatter(tensor, name=None, compression=Compression.none, op=Average,
                  process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
    """Reduces, and leaves each rank its part of the rows.

    Of d rows the r-th of n ranks gets d // n, and one more if r < d % n.
    """
    compressed, context = compression.compress(tensor)
    reduced = HorovodReducescatter.apply(compressed, name, op, process_set, prescale_factor,
                                         postscale_factor)
    return compression.decompress(reduced, context)


def grouped_reducescatter_async(tensors, name=None, op=Average, process_set=global_process_set,
                                prescale_factor=1.0, postscale_factor=1.0):
    """Reduces and scatters several tensors as one submission; returns a handle."""
    core = member("Reducescatter", process_set)
    tensors = [tensor.detach() for tensor in _list_of(tensors)]
    for tensor in tensors:
        _check_scattered(tensor, op)
    operation = _core.grouped_reducescatter([describe(tensor) for tensor in tensors],
                                            _wire("grouped_reducescatter", name), op,
                                            prescale_factor, postscale_factor, core)
    return handles.add(operation, lambda results: tuple(
        from_result(result, tensor) for result, tensor in zip(results, tensors)), tensors)


class HorovodGroupedReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, process_set, prescale_factor, postscale_factor, *tensors):
        ctx.arguments = (op, prescale_factor, postscale_factor, process_set)
        return synchronize(grouped_reducescatter_async(tensors, name, op, process_set,
                                                       prescale_factor, postscale_factor))

    @staticmethod
    def backward(ctx, *grads):
        grads = [_gradient_before_scattering(grad, *ctx.arguments) for grad in grads]
        gathered = synchronize(grouped_allgather_async(grads, process_set=ctx.arguments[-1]))
        return (None, None, None, None, None, *gathered)


def grouped_reducescatter(tensors, name=None, compression=Compression.none, op=Average,
                          process_set=global_process_set, prescale_factor=1.0,
                          postscale_factor=1.0):
    """As reducescatter(), of several tensors; returns a list."""
    compressed, contexts = zip(*(compression.compress(tensor) for tensor in _list_of(tensors)))
    reduced = HorovodGroupedReducescatter.apply(name, op, process_set, prescale_factor,
                                                postscale_factor, *compressed)
    return [compression.decompress(tensor, context)
            for tensor, context in zip(reduced, contexts)]


# --- Ranks that wait for each other ---

def join(device=-1, process_set=global_process_set):
    """This rank has no more data. Returns the rank that joined last, once all have.

    Until then it takes part in what the others reduce, with what changes nothing. `device` is
    accepted as in Horovod.
    """
    del device
    return _core.join(member("Join", process_set)).wait()


def barrier(process_set=global_process_set):
    """Returns when every rank of the set has called it."""
    core = member("Barrier", process_set)
    _core.barrier(core).wait()
