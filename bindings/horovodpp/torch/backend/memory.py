# SPDX-License-Identifier: Apache-2.0
"""Tensors as the library takes them, one dimension of elements or rows, and results as tensors."""
import ctypes
import math

import torch

from horovodpp import _core
from horovodpp.torch.dtypes import _MOVED_ONLY, _NUMBERS, _UINT8, _place

_CPU = _core.CPU
# Up to so many bytes, a view and a copy of torch take longer than their memmove().
_FEW_BYTES = 64 << 10

_SIZES = {number: torch.empty(0, dtype=dtype).element_size() for dtype, number in _NUMBERS.items()}


def dense(tensor):
    """The tensor, or a contiguous copy."""
    if tensor.layout is not torch.strided:
        raise ValueError(f"horovodpp takes tensors of the layout torch.strided here, not "
                         f"{tensor.layout}")
    if tensor.is_complex():
        tensor = tensor.resolve_conj()
    return tensor.contiguous()


def on_host(tensor):
    """The tensor if it is dense in host memory, or a copy there: pinned for one on a GPU."""
    if not is_on_gpu(tensor):
        return dense(tensor)
    copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=torch.cuda.is_available())
    return copy.copy_(tensor)


def is_on_gpu(tensor):
    return tensor.is_cuda


def as_numbers(tensor):
    """A view whose elements the library reduces: of a complex tensor its real numbers."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def described(tensor):
    """A contiguous tensor, as one dimension of elements that are reduced."""
    number = _NUMBERS.get(tensor.dtype)
    if number is None:
        raise ValueError(f"horovodpp does not reduce {tensor.dtype}")
    if tensor.is_cpu:
        return tensor.data_ptr(), number, (tensor.numel(),), _CPU, 0
    return (tensor.data_ptr(), number, (tensor.numel(),), *_place(tensor))


def described_rows(tensor, rows, elements):
    """A contiguous tensor of any dtype, as `rows` of `elements` that are only moved."""
    number = _NUMBERS.get(tensor.dtype)
    if number is None:
        if tensor.dtype not in _MOVED_ONLY:
            raise ValueError(f"horovodpp does not move {tensor.dtype}")
        number = _UINT8
        elements *= tensor.element_size()
    place = (_CPU, 0) if tensor.is_cpu else _place(tensor)
    return (tensor.data_ptr(), number, (rows, elements), *place)


def described_moved(tensor):
    """A contiguous tensor of any dtype, as one dimension that is only moved."""
    number = _NUMBERS.get(tensor.dtype)
    if number is None or not tensor.is_cpu:
        address, number, (_, elements), *place = described_rows(tensor, 1, tensor.numel())
        return (address, number, (elements,), *place)
    return tensor.data_ptr(), number, (tensor.numel(),), _CPU, 0


def elements_of(result, like):
    """A result (bytes, dtype, shape) as one dimension of elements of `like`'s dtype."""
    memory, _, shape = result
    if 0 in shape:
        return like.new_empty(0)
    if like.is_cpu:
        return torch.frombuffer(memory, dtype=like.dtype)
    return torch.from_dlpack(memory).view(like.dtype)


def write(output, result, like):
    """Writes a result, of elements of `like`'s dtype, into a tensor of any strides."""
    size = output.nbytes
    if size <= _FEW_BYTES and output.is_cpu and output.is_contiguous() and like.is_cpu:
        bytes_of_result, number, shape = result
        if math.prod(shape) * _SIZES[number] == size:
            if size:
                ctypes.memmove(output.data_ptr(), _core.address_of(bytes_of_result), size)
            return
    write_elements(output, elements_of(result, like))


def write_elements(output, elements):
    """Copies one dimension of elements into a tensor of any strides."""
    output.detach().copy_(elements.view(output.shape))


def write_parts(outputs, elements):
    """Copies consecutive parts of the elements into the outputs."""
    parts = elements.split([output.numel() for output in outputs])
    for output, part in zip(outputs, parts):
        output.detach().copy_(part.view(output.shape))


def joined(tensors):
    """One dimension of the elements of all tensors: a copy, except of a single tensor."""
    if len(tensors) == 1:
        return dense(tensors[0]).view(-1)
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
