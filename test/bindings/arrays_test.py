# SPDX-License-Identifier: Apache-2.0
"""The collectives on numpy arrays and on other objects that expose their memory."""
import array
import sys

import pytest
import torch

import horovodpp

numpy = pytest.importorskip("numpy")

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_reduced_and_moved(dtype, rank, size):
    mine = numpy.arange(4, dtype=dtype) + numpy.asarray(rank, dtype)
    total = sum((numpy.arange(4) + r for r in range(size)))
    result = horovodpp.allreduce(mine, op=horovodpp.Sum)
    assert result.dtype == dtype and result.tolist() == total.tolist()
    assert horovodpp.allreduce(mine, op=horovodpp.Max)[0] == size - 1
    assert horovodpp.allgather(mine).tolist() == [i + r for r in range(size) for i in range(4)]
    assert horovodpp.broadcast(mine, size - 1).tolist() == [i + size - 1 for i in range(4)]
    assert horovodpp.alltoall(numpy.full(size, rank, dtype)).tolist() == list(range(size))
    scattered = horovodpp.reducescatter(numpy.ones((size, 2), dtype), op=horovodpp.Sum)
    assert scattered.tolist() == [[size, size]]


def test_in_place(rank, size):
    mine = numpy.full((2, 3), float(rank))
    assert horovodpp.allreduce_(mine, name="in.place", op=horovodpp.Sum) is mine
    assert (mine == sum(range(size))).all()
    assert horovodpp.synchronize(horovodpp.allreduce_async_(mine)) is mine
    flags = numpy.full(3, rank == 0)
    assert horovodpp.broadcast_(flags, 0) is flags and flags.all()
    assert horovodpp.synchronize(horovodpp.broadcast_async_(flags, 0)) is flags


def test_async_forms(rank, size):
    mine = numpy.full(size, rank)
    handles = [horovodpp.allreduce_async(mine, op=horovodpp.Sum), horovodpp.allgather_async(mine),
               horovodpp.broadcast_async(mine, 0), horovodpp.alltoall_async(mine, [1] * size),
               horovodpp.reducescatter_async(mine, op=horovodpp.Sum)]
    total = sum(range(size))
    reduced, gathered, cast, (exchanged, received), scattered = map(horovodpp.synchronize, handles)
    assert reduced.tolist() == [total] * size and gathered.shape == (size * size,)
    assert cast.tolist() == [0] * size and exchanged.tolist() == list(range(size))
    assert received.tolist() == [1] * size and received.dtype == "int32"
    assert scattered.tolist() == [total]
    with pytest.raises(ValueError, match="was not created"):
        horovodpp.poll(handles[0])


def test_moving_calls_take_any_dtype(rank, size):
    moments = numpy.array([rank], "datetime64[D]")
    assert horovodpp.allgather(moments).tolist() == \
        numpy.arange(size).astype("datetime64[D]").tolist()
    records = numpy.array([(rank, 0.5)], [("a", "i4"), ("b", "f8")])
    assert horovodpp.broadcast(records, size - 1).tolist() == [(size - 1, 0.5)]
    numbers = numpy.array([rank + 1j])
    assert horovodpp.alltoall(numpy.repeat(numbers, size)).tolist() == \
        [r + 1j for r in range(size)]
    with pytest.raises(ValueError, match="is not supported"):
        horovodpp.allreduce(records)


class Interfaced:
    """Exposes its memory only by __array_interface__."""

    def __init__(self, values):
        self.values = values
        self.__array_interface__ = values.__array_interface__


class Packed:
    """Exposes its memory only by DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("show", [
    Interfaced, Packed, torch.from_numpy, memoryview,
    lambda values: array.array("d", values.tolist())],
    ids=["interface", "dlpack", "torch", "memoryview", "array"])
def test_takes_objects_that_show_their_memory(show, rank, size):
    mean = horovodpp.allreduce(show(numpy.array([rank, 2.0])), op=horovodpp.Sum)
    assert mean.tolist() == [sum(range(size)), 2.0 * size]


def test_memory_that_is_shown_is_written_in_place(rank):
    values = array.array("d", [rank, rank])
    assert horovodpp.broadcast_(values, 0) is values
    assert values.tolist() == [0.0, 0.0]


def test_refuses_unsupported_arrays(size):
    with pytest.raises(TypeError, match="list does not expose its memory"):
        horovodpp.allreduce([1, 2])
    with pytest.raises(ValueError, match="required to be contiguous"):
        horovodpp.allreduce(numpy.ones((3, 3)).T)
    with pytest.raises(ValueError, match="byte order"):
        horovodpp.allreduce(numpy.ones(1, ">f8" if sys.byteorder == "little" else "<f8"))
    fixed = numpy.ones(3)
    fixed.flags.writeable = False
    assert horovodpp.allreduce(fixed).tolist() == [1, 1, 1]
    for function in (horovodpp.allreduce_, lambda a: horovodpp.broadcast_(a, 0)):
        with pytest.raises(ValueError, match="required to be writable"):
            function(fixed)
    with pytest.raises(ValueError, match="int32 is not supported"):
        horovodpp.allreduce(numpy.ones(1, "int32"), op=horovodpp.Adasum)
    with pytest.raises(ValueError, match="object is not supported"):
        horovodpp.allgather(numpy.array([None]))
    with pytest.raises(ValueError, match=f"invalid root rank {size}"):
        horovodpp.broadcast(numpy.ones(1), size)
    with pytest.raises(ValueError, match="does not support scalar inputs"):
        horovodpp.reducescatter(numpy.float64(1))
    with pytest.raises(horovodpp.HorovodInternalError, match="every op but Adasum"):
        horovodpp.reducescatter(numpy.ones(4), op=horovodpp.Adasum)
    with pytest.raises(ValueError, match="Number of entries in splits"):
        horovodpp.alltoall(numpy.ones(3), [1] * (size + 1))


def test_joins_and_barriers(rank, size):
    horovodpp.barrier()
    for _ in range(rank):
        horovodpp.allreduce(numpy.ones(2), name="uneven.array")
    assert horovodpp.join() == size - 1


def test_memory_of_the_arena_is_an_array(size):
    mine = horovodpp.arena_empty((2, 3), "int64")
    assert mine.shape == (2, 3) and mine.dtype == "int64"
    mine[:] = 1
    assert horovodpp.allreduce_(mine, op=horovodpp.Sum) is mine and (mine == size).all()
    assert horovodpp.arena_empty(4).dtype == "float32"
    with pytest.raises(ValueError, match="not supported"):
        horovodpp.arena_empty(4, object)
    with pytest.raises(ValueError, match="device is 'cuda:first'"):
        horovodpp.arena_empty(4, device="cuda:first")
