# SPDX-License-Identifier: Apache-2.0
"""The collectives on arrays on fake GPUs."""
import numpy
import pytest

import horovodpp
from gpu_memory import LIBRARY, Gpu, values_of

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="HOROVODPP_CUDA_LIBRARY names no fake")


@pytest.fixture(name="gpu")
def one_of_two():
    horovodpp.init()
    return Gpu(horovodpp.rank() // 2 % 2)


def test_reduces_arrays_pending_in_the_stream(gpu):
    n = horovodpp.size()
    for step in range(5):
        mine = gpu.put(numpy.full(1000, horovodpp.rank() + step, "float32"))
        total = horovodpp.allreduce(mine, name="sum", op=horovodpp.Sum)
        assert (values_of(total, gpu) == n * (n - 1) / 2 + n * step).all()
        assert (values_of(mine, gpu) == horovodpp.rank() + step).all()


def test_in_place_returns_its_argument(gpu):
    mine = gpu.put(numpy.arange(6, dtype="float64").reshape(2, 3))
    assert horovodpp.allreduce_(mine, op=horovodpp.Average) is mine
    assert (values_of(mine, gpu) == numpy.arange(6).reshape(2, 3)).all()


def test_the_other_collectives(gpu):
    n, rank = horovodpp.size(), horovodpp.rank()
    gathered = horovodpp.allgather(gpu.put(numpy.full((rank + 1, 2), rank, "int32")))
    expected = numpy.concatenate([numpy.full((r + 1, 2), r) for r in range(n)])
    assert (values_of(gathered, gpu) == expected).all()
    sent = horovodpp.broadcast(gpu.put(numpy.array([rank + 0.5])), n - 1)
    assert values_of(sent, gpu) == n - 0.5
    complex_numbers = gpu.put(numpy.array([1j * rank]))
    horovodpp.broadcast_(complex_numbers, 0)
    assert values_of(complex_numbers, gpu) == 0
    received, splits = horovodpp.alltoall(
        gpu.put(numpy.full(n, rank, "uint8")), splits=[1] * n)
    assert values_of(received, gpu).tolist() == list(range(n))
    assert splits.tolist() == [1] * n
    part = horovodpp.reducescatter(gpu.put(numpy.arange(n, dtype="float32")), op=horovodpp.Sum)
    assert values_of(part, gpu) == n * rank


def test_results_have_shape_and_dtype(gpu):
    result = horovodpp.allgather(gpu.put(numpy.ones((1, 3), "float16")))
    assert result.shape == (horovodpp.size(), 3)
    assert result.ndim == 2
    assert result.dtype == numpy.float16
    again = horovodpp.allreduce(result, op=horovodpp.Max)
    assert (values_of(again, gpu) == 1).all()


def test_a_stream_comes_behind_without_the_host(gpu):
    n, rank = horovodpp.size(), horovodpp.rank()
    mine = gpu.put(numpy.full(1000, rank, "float32"))
    copy = gpu.put(numpy.zeros(1000, "float32"))
    handle = horovodpp.allreduce_async_(mine, name="behind", op=horovodpp.Sum)
    horovodpp.wait_in_stream(handle, gpu.stream)
    gpu.copy(copy.address, mine.address, 4000)
    assert (values_of(copy, gpu) == n * (n - 1) / 2).all()
    assert horovodpp.synchronize(handle) is mine
    with pytest.raises(ValueError, match="has been cleared"):
        horovodpp.wait_in_stream(handle, gpu.stream)


def test_memory_of_the_arena_is_on_the_gpu(gpu):
    n = horovodpp.size()
    array = horovodpp.arena_empty((3, 5), "float64", device=f"cuda:{gpu.index}")
    assert array.shape == (3, 5) and array.dtype == numpy.float64
    ones = gpu.put(numpy.ones((3, 5)))
    gpu.copy(array.__cuda_array_interface__["data"][0], ones.address, 120)
    gpu.synchronize()
    horovodpp.allreduce_(array, name="arena", op=horovodpp.Sum)
    assert (values_of(array, gpu) == n).all()
    assert horovodpp.arena_empty(0, device=f"cuda:{gpu.index}").shape == (0,)
    with pytest.raises(ValueError, match="no GPU 99"):
        horovodpp.arena_empty(1, device="cuda:99")


def test_unsupported_arrays_are_refused(gpu):
    columns = gpu.put(numpy.ones((4, 4), "float32"))
    columns.strides = (4, 16)
    with pytest.raises(ValueError, match="contiguous"):
        horovodpp.allreduce(columns)
    constant = gpu.put(numpy.ones(4, "float32"))
    constant.read_only = True
    with pytest.raises(ValueError, match="writable"):
        horovodpp.allreduce_(constant)
    with pytest.raises(ValueError, match="not supported"):
        horovodpp.allreduce(gpu.put(numpy.ones(4, "uint16")))
    on_host = gpu.put(numpy.ones(4, "float32"))
    on_host.address = on_host.sent.ctypes.data
    with pytest.raises(ValueError, match="CUDA does not know"):
        horovodpp.allreduce(on_host)
