# SPDX-License-Identifier: Apache-2.0
"""Torch tensors on GPUs. This torch may lack GPU support: a fake tensor answers as a real one
would, for memory of the fake driver."""
import types

import numpy
import pytest
import torch

import horovodpp.torch as hvd
from gpu_memory import LIBRARY, Gpu, values_of
from horovodpp import _core
from horovodpp.torch import dtypes
from horovodpp.torch.sending import Sender

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="HOROVODPP_CUDA_LIBRARY names no fake")

_DTYPES = {"float32": torch.float32, "int64": torch.int64}


class CudaTensor:
    """The part of a tensor that the collectives use."""

    __class__ = torch.Tensor  # For isinstance().
    layout = torch.strided
    is_cpu, is_cuda = False, True

    def __init__(self, array):
        self.array = array
        self.shape = torch.Size(array.shape)
        self.dtype = _DTYPES[array.dtype.name]
        self.device = torch.device("cuda", array.gpu.index)
        self.is_contiguous_now = True
        self.versions = 0

    def data_ptr(self):
        return self.array.address

    def is_contiguous(self):
        return self.is_contiguous_now

    def is_conj(self):
        return False

    is_neg = is_conj

    def type(self):
        return "torch.cuda.Tensor"

    def detach(self):
        return self

    def clone(self, memory_format):
        assert memory_format is torch.contiguous_format
        size = self.array.dtype.itemsize * int(numpy.prod(self.shape))
        gpu = self.array.gpu
        copy = gpu.put(numpy.empty(self.shape, self.array.dtype))
        gpu.copy(copy.address, self.array.address, size)
        return CudaTensor(copy)


@pytest.fixture(name="gpu")
def one_of_two(monkeypatch):
    hvd.init()
    gpu = Gpu(hvd.rank() // 2 % 2)

    def current_stream(device):
        assert device.index == gpu.index
        return types.SimpleNamespace(cuda_stream=gpu.stream)

    monkeypatch.setattr(torch.cuda, "current_stream", current_stream)
    # Versions are of real tensors alone.
    from horovodpp.torch.collectives import arguments
    monkeypatch.setattr(arguments, "_increment_versions", lambda tensors: None)
    return gpu


def test_the_stream_that_torch_works_in_comes_before(gpu):
    tensor = CudaTensor(gpu.put(numpy.ones(3, "float32")))
    assert dtypes.describe(tensor) == (tensor.data_ptr(), 7, (3,), gpu.index, gpu.stream)
    assert dtypes.describe(torch.ones(3))[3:] == (_core.CPU, 0)


def test_tensors_are_reduced_in_and_out_of_place(gpu):
    n, rank = hvd.size(), hvd.rank()
    for step in range(5):
        tensor = CudaTensor(gpu.put(numpy.full(500, rank + step, "float32")))
        total = hvd.synchronize(hvd.allreduce_async(tensor, op=hvd.Sum))
        assert (values_of(total.array, gpu) == n * (n - 1) / 2 + n * step).all()
        assert (values_of(tensor.array, gpu) == rank + step).all()
        assert hvd.allreduce_(tensor, op=hvd.Max) is tensor
        assert (values_of(tensor.array, gpu) == n - 1 + step).all()


def test_a_group_is_reduced_as_one(gpu):
    tensors = [CudaTensor(gpu.put(numpy.full(size, hvd.rank(), "int64"))) for size in (3, 1, 70)]
    reduced = hvd.synchronize(hvd.grouped_allreduce_async_(tensors, op=hvd.Sum))
    assert list(reduced) == tensors
    for tensor in tensors:
        assert (values_of(tensor.array, gpu) == sum(range(hvd.size()))).all()


def test_a_tensor_is_kept_until_its_result_is_there(gpu):
    tensor = CudaTensor(gpu.put(numpy.full(4000, 1, "float32")))
    array = tensor.array
    handle = hvd.allreduce_async_(tensor, op=hvd.Sum)
    del tensor
    assert hvd.synchronize(handle).array is array
    assert (values_of(array, gpu) == hvd.size()).all()


def test_broadcast_reaches_gpus(gpu):
    tensor = CudaTensor(gpu.put(numpy.full(10, hvd.rank(), "float32")))
    hvd.broadcast_(tensor, hvd.size() - 1)
    assert (values_of(tensor.array, gpu) == hvd.size() - 1).all()


def test_compressors_of_the_host_leave_gpus_alone(gpu):
    sender = Sender(hvd.Compression.int8(), hvd.Sum, 1.0, hvd.global_process_set)
    tensor = CudaTensor(gpu.put(numpy.ones(300, "float32")))
    sender.start(["weight"], [tensor])()
    assert (values_of(tensor.array, gpu) == hvd.size()).all()


def test_unsupported_tensors_are_refused(gpu):
    tensor = CudaTensor(gpu.put(numpy.ones((3, 3), "float32")))
    tensor.is_contiguous_now = False
    with pytest.raises(ValueError, match="contiguous"):
        hvd.allreduce_(tensor)
    with pytest.raises(ValueError, match="on meta"):
        hvd.allreduce_(torch.ones(3, device="meta"))
