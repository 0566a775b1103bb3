# SPDX-License-Identifier: Apache-2.0
"""Tensors in memory that is reduced without a copy."""
from __future__ import annotations

import math
from typing import Optional, Sequence, Union

import torch

from horovodpp import _core
from horovodpp.common.explained import explained


@explained(returns="The tensor.",
           raises={"ValueError": "the device is neither the CPU nor an NVIDIA GPU."},
           device='the CPU or an NVIDIA GPU, such as "cuda:0".',
           example="gradient = hvd.arena_empty((1000, 100))")
def arena_empty(size: Sequence[int], dtype: Optional[torch.dtype] = None,
                device: Union[str, torch.device] = "cpu") -> torch.Tensor:
    """An uninitialized tensor for repeated reductions: its memory is reduced without a copy.

    On the CPU, the tensor lies in memory that the ranks of a node share, or in other memory if that
    is full. On a GPU, in a job, it lies in memory registered with NCCL (docs/gpu.md).

    Args:
        size: the shape.
        dtype: the type; by default torch's default.
    """
    device = torch.device(device)
    dtype = dtype or torch.get_default_dtype()
    size_of_all = math.prod(size) * torch.empty((), dtype=dtype).element_size()
    if size_of_all == 0:
        return torch.empty(size, dtype=dtype, device=device)
    if device.type == "cpu":
        memory = _core.arena_alloc(size_of_all)
    elif device.type == "cuda":
        gpu = torch.cuda.current_device() if device.index is None else device.index
        memory = _core.arena_alloc_on(gpu, size_of_all)
    else:
        raise ValueError(f"device is {device}: use the CPU or an NVIDIA GPU")
    return torch.from_dlpack(memory).view(dtype).view(size)
