# SPDX-License-Identifier: Apache-2.0
"""Allreduce in place of ordinary tensors, which the module reads by itself where torch allows it."""
import pytest
import torch

import horovodpp.torch as hvd
from horovodpp.torch import dtypes
from horovodpp.torch.collectives import allreduce

WAYS = list({dtypes._allreduce_plain: "described", dtypes.allreduce_plain: "read"}.items())


@pytest.fixture(params=[way for way, _ in WAYS], ids=[name for _, name in WAYS])
def plain(request, monkeypatch):
    """The way in which the collective reads plain tensors."""
    monkeypatch.setattr(allreduce, "allreduce_plain", request.param)
    return request.param


class Subclass(torch.Tensor):
    pass


@pytest.mark.parametrize("dtype", [d for d in dtypes._NUMBERS if d != torch.bool])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 4)])
def test_it_sums_every_dtype_and_shape(plain, dtype, shape, size):
    tensor = torch.ones(shape, dtype=dtype)
    version = tensor._version
    assert hvd.synchronize(hvd.allreduce_async_(tensor, op=hvd.Sum)) is tensor
    assert tensor.eq(size).all() and tensor._version == version + 1


def test_bools_are_compared(plain, rank):
    tensor = torch.tensor([rank == 0, False])
    assert hvd.allreduce_(tensor, op=hvd.Max).tolist() == [True, False]


def test_only_the_rows_of_a_slice_are_written(plain, size):
    whole = torch.ones(4, 3)
    hvd.allreduce_(whole[1:3], op=hvd.Sum)
    assert whole[:, 0].tolist() == [1, size, size, 1]


@pytest.mark.parametrize("make", [
    lambda: torch.nn.Parameter(torch.ones(3)), lambda: torch.ones(3).as_subclass(Subclass),
    lambda: torch.ones(3, dtype=torch.complex64), lambda: torch.ones(0),
    lambda: torch.ones(1, 3, 1).transpose(0, 2)])
def test_other_tensors_are_summed(plain, make, size):
    with torch.no_grad():
        tensor = make()
        assert hvd.allreduce_(tensor, op=hvd.Sum).eq(size).all()


@pytest.mark.parametrize("make, message", [
    (lambda: torch.ones(4, 4).t(), "contiguous"),
    (lambda: torch._neg_view(torch.ones(3)), "resolve_neg"),
    (lambda: torch.ones(3).to_sparse(), "sparse.FloatTensor is not supported"),
    (lambda: torch.ones(3, device="meta"), "on meta"),
    (lambda: torch.ones(3).to(torch.uint8).view(torch.uint8).expand(2, 3), "contiguous")])
def test_what_cannot_be_reduced_is_refused(plain, make, message):
    with pytest.raises(ValueError, match=message):
        hvd.allreduce_(make(), op=hvd.Sum)
    hvd.barrier()


@pytest.mark.parametrize("other", [None, "words", 3])
def test_what_is_no_tensor_is_refused(plain, other):
    with pytest.raises(TypeError, match="takes tensors of torch"):
        hvd.allreduce_(other)


def test_a_name_in_use_is_refused(plain, size):
    tensor, other = torch.ones(2), torch.ones(2)
    handle = hvd.allreduce_async_(tensor, name="twice", op=hvd.Sum)
    with pytest.raises(ValueError, match="'twice' is taken"):
        hvd.allreduce_async_(other, name="twice", op=hvd.Sum)
    assert hvd.synchronize(handle).eq(size).all() and other.eq(1).all()
