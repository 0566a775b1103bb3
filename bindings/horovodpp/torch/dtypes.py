# SPDX-License-Identifier: Apache-2.0
"""Descriptions of torch tensors for the library: address, dtype, shape, GPU, stream."""
import functools
import math

import torch

from horovodpp import _core
from horovodpp.common import handles
from horovodpp.common.ops import Average, Max, Min, Product, Sum

# The numbers of hvd::DType.
_NUMBERS = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.bfloat16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.bool: 9,
}
_UINT8 = 0
_CPU = _core.CPU
_STRIDED = torch.strided
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)
OPS_OF_EVERY_DTYPE = (Average, Sum, Min, Max, Product)
# Handled as bytes, by collectives that only move elements.
_MOVED_ONLY = {
    getattr(torch, name)
    for name in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
                 "float8_e5m2fnuz", "float8_e8m0fnu", "complex32", "complex64", "complex128")
    if hasattr(torch, name)
}
# A complex number is reduced as a pair of these.
_PARTS = {getattr(torch, name): part
          for name, part in (("complex32", torch.float16), ("complex64", torch.float32),
                             ("complex128", torch.float64)) if hasattr(torch, name)}


def _check(tensor):
    if not tensor.is_contiguous():
        raise ValueError("Tensor is required to be contiguous.")
    if tensor.is_conj() or tensor.is_neg():
        raise ValueError("Tensor is required to be resolved: use tensor.resolve_conj() and "
                         "tensor.resolve_neg().")


def _place(tensor):
    """(GPU, stream) of a tensor. The stream is torch's current one: earlier work goes first.

    Results are complete in memory when the operation is synchronized. Until then its handle keeps
    the tensor, so that torch's allocator cannot reuse the memory.
    """
    if tensor.is_cpu:
        return _core.CPU, 0
    if tensor.device.type != "cuda":
        raise ValueError(f"The tensor is on {tensor.device}, but only the CPU and NVIDIA GPUs are "
                         "supported; use tensor.cpu()")
    return tensor.device.index, torch.cuda.current_stream(tensor.device).cuda_stream


def _address(tensor):
    """Where the elements are. Raises ValueError for a tensor without memory of its own."""
    address = tensor.data_ptr()
    if not address and hasattr(tensor, "full_tensor"):
        raise ValueError("The tensor is a DTensor, of which each rank has a part: pass "
                         "tensor.to_local(), this rank's part, or tensor.full_tensor()")
    return address


def is_on_gpu(tensor):
    return tensor.device.type == "cuda"


def _allreduce_plain(tensor, name, op, prescale_factor, postscale_factor, core, finish):
    """Starts an allreduce in place of an ordinary tensor on the CPU, with all checks, in few steps.

    Returns a handle; None for a tensor that takes more.
    """
    if type(tensor) not in _PLAIN_TYPES:
        return None
    number = _NUMBERS.get(tensor.dtype)
    if number is None or not tensor.is_cpu or tensor.layout is not _STRIDED or \
            not tensor.is_contiguous() or tensor.is_neg():
        return None
    address = tensor.data_ptr()
    if not address:
        return None
    key = handles.claim("allreduce", name, core) if name else None
    operation = _core.allreduce_((address, number, tensor.shape, _CPU, 0), name or "", op,
                                 prescale_factor, postscale_factor, core)
    return handles.add(operation, finish, tensor, key)


def _plain_allreduces():
    """_allreduce_plain(), and the same for a list of tensors.

    The module reads the tensors itself if torch offers that (2.10).
    """
    table = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if table is None:
        return _allreduce_plain, lambda *_: None
    plain = _core.PlainTensors(table, _PLAIN_TYPES, "is_neg")
    return (functools.partial(plain.start_allreduce, handles.TABLE),
            functools.partial(plain.start_grouped_allreduce, handles.TABLE))


allreduce_plain, grouped_allreduce_plain = _plain_allreduces()


def describe(tensor):
    """The library's description of a tensor whose elements are reduced.

    Raises ValueError for a dtype that is not supported, or memory that is not contiguous.
    """
    number = _NUMBERS.get(tensor.dtype)
    if number is None or tensor.layout is not torch.strided:
        raise ValueError(f"Tensor type {tensor.type()} is not supported.")
    place = _place(tensor)
    _check(tensor)
    return (_address(tensor), number, tuple(tensor.shape), *place)


def describe_reduced(tensor, op):
    """As describe(), also for complex numbers: as real pairs, with one more dimension.

    Raises ValueError for an op that is not of each part by itself.
    """
    part = _PARTS.get(tensor.dtype)
    if part is None:
        return describe(tensor)
    if op not in (Average, Sum):
        raise ValueError(f"Tensor type {tensor.type()} is not supported: complex numbers are "
                         "reduced by Average or Sum")
    place = _place(tensor)
    _check(tensor)
    return (_address(tensor), _NUMBERS[part], tuple(tensor.shape) + (2,), *place)


def describe_moved(tensor):
    """As describe(), for collectives that only move elements, so any dtype will do.

    A dtype that the library lacks is described as bytes, with one more dimension.
    """
    if tensor.dtype not in _MOVED_ONLY:
        return describe(tensor)
    place = _place(tensor)
    _check(tensor)
    return (_address(tensor), _UINT8, tuple(tensor.shape) + (tensor.element_size(),), *place)


def from_results(results, likes):
    """As from_result(), of several."""
    return tuple(map(from_result, results, likes))


def from_result(result, like):
    """A tensor of `like`'s dtype over the memory of a result (bytes, dtype, shape)."""
    memory, _, shape = result
    shape = tuple(shape)
    if like.dtype in _MOVED_ONLY and shape != (0,):  # That is a reduction for another rank.
        shape = shape[:-1]
    if math.prod(shape) == 0:
        return like.new_empty(shape)
    return torch.from_dlpack(memory).view(like.dtype).view(shape)
