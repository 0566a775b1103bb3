# SPDX-License-Identifier: Apache-2.0
"""Tensors that the program allocates in the arena, where they are reduced without a copy."""
import pytest
import torch

import horovodpp.torch as hvd
from horovodpp import _core


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_tensors_lie_in_the_arena_and_are_reduced_there(dtype, rank, size):
    tensor = hvd.arena_empty((4, 25), dtype)
    assert tensor.shape == (4, 25) and tensor.dtype == dtype
    assert _core.is_in_arena(tensor.data_ptr(), 100 * tensor.element_size())
    tensor.fill_(rank)
    assert hvd.allreduce_(tensor, op=hvd.Sum) is tensor
    assert (tensor == sum(range(size))).all()


def test_tensors_have_the_default_dtype_and_may_be_empty():
    assert hvd.arena_empty((2,)).dtype == torch.get_default_dtype()
    assert hvd.arena_empty((0, 3)).shape == (0, 3)
    assert hvd.arena_empty(()).shape == ()


def test_other_devices_are_refused():
    with pytest.raises(ValueError, match="device is meta"):
        hvd.arena_empty((2,), device="meta")
