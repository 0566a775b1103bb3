# SPDX-License-Identifier: Apache-2.0
"""Tensors in memory from where reducing them costs no copy."""
import math

import torch

from horovodpp import _core


def arena_empty(size, dtype=None, device="cpu"):
    """A tensor of any content, for what is reduced often.

    On the CPU it lies in memory that the ranks of a node share, or in other memory where that has
    no room; on a GPU, in a job, in memory that NCCL knows (docs/gpu.md).

    size: its shape. dtype: torch's default, unless it is given.
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
        raise ValueError(f"device is {device}: it is the CPU, or a GPU of NVIDIA's")
    return torch.from_dlpack(memory).view(dtype).view(size)
