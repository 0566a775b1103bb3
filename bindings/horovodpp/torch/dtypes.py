# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch as the library sees them: address, dtype, shape."""
import math

import torch

# The numbers are those of hvd::DType.
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
# Kept as their bytes, where bytes are only moved.
_MOVED_ONLY = {
    getattr(torch, name)
    for name in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
                 "float8_e5m2fnuz", "float8_e8m0fnu", "complex32", "complex64", "complex128")
    if hasattr(torch, name)
}


def _check(tensor):
    if tensor.device.type != "cpu":
        raise ValueError(f"The tensor is on {tensor.device}: this build reaches memory of the CPU "
                         "only; use tensor.cpu()")
    if not tensor.is_contiguous():
        raise ValueError("Tensor is required to be contiguous.")
    if tensor.is_conj() or tensor.is_neg():
        raise ValueError("Tensor is required to be resolved: use tensor.resolve_conj() and "
                         "tensor.resolve_neg().")


def describe(tensor):
    """(address, dtype, shape) of a tensor whose elements are computed with.

    Raises ValueError for a dtype that is not supported, or memory that is not contiguous.
    """
    number = _NUMBERS.get(tensor.dtype)
    if number is None or tensor.layout is not torch.strided:
        raise ValueError(f"Tensor type {tensor.type()} is not supported.")
    _check(tensor)
    return (tensor.data_ptr(), number, tuple(tensor.shape))


def describe_moved(tensor):
    """(address, dtype, shape) of a tensor whose elements only move, so that any dtype will do.

    What the library has no number for is bytes in one dimension more.
    """
    if tensor.dtype not in _MOVED_ONLY:
        return describe(tensor)
    _check(tensor)
    return (tensor.data_ptr(), _UINT8, tuple(tensor.shape) + (tensor.element_size(),))


def from_result(result, like):
    """The tensor of `like`'s dtype over the memory of (bytes, dtype, shape)."""
    memory, _, shape = result
    shape = tuple(shape)
    if like.dtype in _MOVED_ONLY:
        shape = shape[:-1]
    if math.prod(shape) == 0:
        return like.new_empty(shape)
    return torch.from_dlpack(memory).view(like.dtype).view(shape)
