# SPDX-License-Identifier: Apache-2.0
"""The collectives on arrays of numpy and other libraries.

    import horovodpp

    horovodpp.init()
    mean = horovodpp.allreduce(array, name="loss")

On the CPU, an array is any object with __array_interface__, the buffer protocol or DLPack; results
are numpy arrays. On a GPU, an array is any object with __cuda_array_interface__; results lie on the
same GPU and have __cuda_array_interface__ too (gpu_arrays.py). The functions work like
horovodpp.torch and raise the same errors. Ranks match names, also with calls of horovodpp.torch.
"""
from __future__ import annotations

import math
from typing import Any, Optional, Sequence, Union

from horovodpp import _core, gpu_arrays
from horovodpp.common import handles
from horovodpp.common.arguments import check_root, check_scattered, splits_of, wire
from horovodpp.common.explained import OF_A_START, explained
from horovodpp.common.ops import Adasum, Average, Sum
from horovodpp.common.process_sets import ProcessSet, global_process_set, member

_NUMBERS = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5,
            "bfloat16": 6, "float32": 7, "float64": 8, "bool": 9}
_UINT8 = 0
# A complex number is reduced as a pair of these.
_PARTS = {"complex64": "float32", "complex128": "float64"}
# Of arguments, for help().
_ARRAY = "an array or an object with its interfaces (see horovodpp.arrays); contiguous, "
_EQUAL = _ARRAY + ("on the CPU or on an NVIDIA GPU; of a float, complex, an integer or bool, of "
                   "one shape and dtype on all ranks.")
_LEFT_ALONE = " Leave it alone until it is synchronized."
_ROWS = _ARRAY + ("of any dtype, with at least one dimension. The first dimension may differ "
                  "between ranks, the others not.")
_SPLITS = ("a list with a number of rows for each rank of the set. By default the rows are shared "
           "equally.")


def _numpy():
    try:
        import numpy
    except ImportError as error:
        raise ImportError("collectives on arrays need numpy, which is not installed: "
                          "pip install numpy") from error
    return numpy


def _shown(array):
    """A numpy array over the same memory."""
    numpy = _numpy()
    if isinstance(array, numpy.ndarray):
        return array
    if hasattr(array, "__array_interface__") or hasattr(array, "__array__"):
        return numpy.asarray(array)
    if hasattr(array, "__dlpack__"):
        return numpy.from_dlpack(array)
    try:
        return numpy.asarray(memoryview(array))
    except TypeError:
        raise TypeError(f"{type(array).__name__} does not expose its memory: convert it with "
                        "numpy.asarray(...)") from None


def _of(array, moved=False, written=False):
    """The numpy array or GpuArray, and its description for the library.

    moved: the collective only moves elements, so any dtype will do.
    """
    if gpu_arrays.is_on_gpu(array):
        array, (address, gpu, stream) = gpu_arrays.shown(array, _numpy(), written)
    else:
        array = _shown(array)
        address, gpu, stream = array.ctypes.data, _core.CPU, 0
    number = _NUMBERS.get(array.dtype.name)
    shape = array.shape
    if not moved and array.dtype.name in _PARTS:
        number = _NUMBERS[_PARTS[array.dtype.name]]
        shape += (2,)
    if number is None:
        if not moved or array.dtype.hasobject:
            raise ValueError(f"Tensor type {array.dtype.name} is not supported.")
        number = _UINT8
        shape += (array.dtype.itemsize,)
    if not array.dtype.isnative:
        raise ValueError("Tensor is required to be of this machine's byte order.")
    if gpu == _core.CPU:
        _check_memory(array, written)
    return array, (address, number, shape, gpu, stream)


def _check_memory(array, written):
    if not array.flags.c_contiguous:
        raise ValueError("Tensor is required to be contiguous.")
    if written and not array.flags.writeable:
        raise ValueError("Tensor is required to be writable, as the result takes its place.")


def _result(result, like):
    """(bytes, dtype, shape) as an array of `like`'s dtype, on the device of `like`."""
    memory, number, shape = result
    if like.dtype.name not in _NUMBERS:
        shape = shape[:-1]
    if isinstance(like, gpu_arrays.GpuArray):
        return gpu_arrays.GpuArray(memory, _core.address_of(memory), like.dtype, shape)
    return _numpy().asarray(memoryview(memory)).view(like.dtype).reshape(shape)


def _given(_, kept):
    """The caller's array, after an operation that wrote it."""
    return kept[1]


@explained(shape="a number, or a sequence of them.",
           dtype="numpy's dtype or its name.",
           device='"cpu", or "cuda:0" and so on.',
           returns="The array.",
           raises={"ValueError": "the dtype holds objects, or there is no such device."},
           example="x = horovodpp.arena_empty((4, 25))")
def arena_empty(shape: Union[int, Sequence[int]], dtype: Any = "float32",
                device: Any = "cpu") -> Any:
    """An uninitialized array for repeated reductions: its memory is reduced without a copy.

    On the CPU, the array lies in memory that the ranks of a node share, or in other memory if that
    is full. On a GPU ("cuda:0"), in a job, it lies in memory registered with NCCL (docs/gpu.md);
    the result is an array with __cuda_array_interface__.
    """
    numpy = _numpy()
    dtype = numpy.dtype(dtype)
    if dtype.hasobject:
        raise ValueError(f"Tensor type {dtype.name} is not supported.")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(shape) * dtype.itemsize
    gpu = gpu_arrays.index_of(device)
    if gpu == _core.CPU:
        memory: Any = _core.arena_alloc(size)
        return numpy.asarray(memoryview(memory)).view(dtype).reshape(shape)
    memory = _core.arena_alloc_on(gpu, size)
    return gpu_arrays.GpuArray(memory, _core.address_of(memory), dtype, shape)


def _check_reduced(array, op):
    if array.dtype.name in _PARTS and op not in (Average, Sum):
        raise ValueError(f"Tensor type {array.dtype.name} is not supported: complex numbers are "
                         "reduced by Average or Sum")
    if op == Adasum and not array.dtype.name.endswith(("float16", "float32", "float64")):
        raise ValueError(f"Tensor type {array.dtype.name} is not supported.")


@explained(array=_EQUAL,
           returns="A handle, an int, for poll() and synchronize(), which returns a new "
                   "array.",
           raises=OF_A_START,
           example='mean = horovodpp.synchronize(horovodpp.allreduce_async(x, name="x"))')
def allreduce_async(array: Any, name: Optional[str] = None, op: int = Average,
                    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an allreduce into a new array. Returns a handle for poll() and synchronize()."""
    core = member("Allreduce", process_set)
    array, described = _of(array)
    _check_reduced(array, op)
    key = handles.claim("allreduce", name, core)
    operation = _core.allreduce(described, wire(name), op, prescale_factor,
                                postscale_factor, core)
    return handles.add(operation, _result, array, key)


@explained(array=_EQUAL,
           returns="A new array of the same shape and dtype.",
           example='mean = horovodpp.allreduce(numpy.array([loss]), name="loss")')
def allreduce(array: Any, name: Optional[str] = None, op: int = Average,
              prescale_factor: float = 1.0, postscale_factor: float = 1.0,
              process_set: ProcessSet = global_process_set) -> Any:
    """Returns the reduction over the ranks of `process_set`: a new array of the same shape."""
    return handles.wait_for(allreduce_async, array, name, op, prescale_factor,
                            postscale_factor, process_set)


@explained(array=_EQUAL + _LEFT_ALONE,
           returns="A handle, an int, for poll() and synchronize(), which returns the array.",
           raises=OF_A_START,
           example='horovodpp.synchronize(horovodpp.allreduce_async_(x, name="x"))')
def allreduce_async_(array: Any, name: Optional[str] = None, op: int = Average,
                     prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                     process_set: ProcessSet = global_process_set) -> int:
    """Starts an allreduce in place. Returns a handle for poll() and synchronize()."""
    core = member("Allreduce", process_set)
    shown, described = _of(array, written=True)
    _check_reduced(shown, op)
    key = handles.claim("allreduce", name, core)
    operation = _core.allreduce_(described, wire(name), op, prescale_factor,
                                 postscale_factor, core)
    return handles.add(operation, _given, (shown, array), key)


@explained(array=_EQUAL,
           returns="The array.",
           example="horovodpp.allreduce_(x, op=horovodpp.Sum)")
def allreduce_(array: Any, name: Optional[str] = None, op: int = Average,
               prescale_factor: float = 1.0, postscale_factor: float = 1.0,
               process_set: ProcessSet = global_process_set) -> Any:
    """Replaces the elements by the reduction over the ranks, and returns the array."""
    return handles.wait_for(allreduce_async_, array, name, op, prescale_factor,
                            postscale_factor, process_set)


@explained(array=_ROWS,
           returns="A handle, an int, for poll() and synchronize(), which returns a new "
                   "array.",
           raises=OF_A_START,
           example="rows = horovodpp.synchronize(horovodpp.allgather_async(x))")
def allgather_async(array: Any, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an allgather. Returns a handle for poll() and synchronize()."""
    core = member("Allgather", process_set)
    array, described = _of(array, moved=True)
    key = handles.claim("allgather", name, core)
    operation = _core.allgather(described, wire(name), core)
    return handles.add(operation, _result, array, key)


@explained(array=_ROWS,
           returns="A new array, whose first dimension is the sum of the ranks'.",
           example="rows = horovodpp.allgather(x)")
def allgather(array: Any, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> Any:
    """Returns the ranks' arrays, concatenated along the first dimension, which may differ."""
    return handles.wait_for(allgather_async, array, name, process_set)


@explained(array=_EQUAL,
           returns="A handle, an int, for poll() and synchronize(), which returns a new "
                   "array.",
           raises=OF_A_START,
           example="seed = horovodpp.synchronize(horovodpp.broadcast_async(seed, "
                   "root_rank=0))")
def broadcast_async(array: Any, root_rank: int, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts a broadcast into a new array. Returns a handle for poll() and synchronize()."""
    core = member("Broadcast", process_set)
    check_root(root_rank, process_set)
    array, described = _of(array, moved=True)
    key = handles.claim("broadcast", name, core)
    operation = _core.broadcast(described, root_rank, wire(name), core)
    return handles.add(operation, _result, array, key)


@explained(array=_EQUAL,
           returns="A new array.",
           example="seed = horovodpp.broadcast(seed, root_rank=0)")
def broadcast(array: Any, root_rank: int, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> Any:
    """Returns a copy of the array of rank `root_rank` of the job; shapes must be equal."""
    return handles.wait_for(broadcast_async, array, root_rank, name, process_set)


@explained(array=_EQUAL + _LEFT_ALONE,
           returns="A handle, an int, for poll() and synchronize(), which returns the array.",
           raises=OF_A_START,
           example="horovodpp.synchronize(horovodpp.broadcast_async_(x, root_rank=0))")
def broadcast_async_(array: Any, root_rank: int, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> int:
    """Starts a broadcast in place. Returns a handle for poll() and synchronize()."""
    core = member("Broadcast", process_set)
    check_root(root_rank, process_set)
    shown, described = _of(array, moved=True, written=True)
    key = handles.claim("broadcast", name, core)
    operation = _core.broadcast_(described, root_rank, wire(name), core)
    return handles.add(operation, _given, (shown, array), key)


@explained(array=_EQUAL,
           returns="The array.",
           example="horovodpp.broadcast_(x, root_rank=0)")
def broadcast_(array: Any, root_rank: int, name: Optional[str] = None,
               process_set: ProcessSet = global_process_set) -> Any:
    """Replaces the elements by the elements of rank `root_rank`, and returns the array."""
    return handles.wait_for(broadcast_async_, array, root_rank, name, process_set)


@explained(array=_ROWS,
           splits=_SPLITS,
           returns="A handle, an int, for poll() and synchronize(), which returns the "
                   "rows, or a tuple of the rows and their numbers.",
           raises=OF_A_START,
           example="rows = horovodpp.synchronize(horovodpp.alltoall_async(x))")
def alltoall_async(array: Any, splits: Optional[Sequence[int]] = None, name: Optional[str] = None,
                   process_set: ProcessSet = global_process_set) -> int:
    """Starts an alltoall. Returns a handle for poll() and synchronize()."""
    core = member("Alltoall", process_set)
    array, described = _of(array, moved=True)
    rows = splits_of(array.shape, splits, process_set)
    key = handles.claim("alltoall", name, core)
    operation = _core.alltoall(described, rows, wire(name), core)

    def finish(result, array):
        output, received = result
        output = _result(output, array)
        return output if splits is None else (output, _numpy().asarray(received, "int32"))

    return handles.add(operation, finish, array, key)


@explained(array=_ROWS,
           splits=_SPLITS,
           returns="The received rows, in rank order; with `splits` a tuple of the rows "
                   "and their numbers.",
           example="rows, counts = horovodpp.alltoall(x, splits=[1, 3])")
def alltoall(array: Any, splits: Optional[Sequence[int]] = None, name: Optional[str] = None,
             process_set: ProcessSet = global_process_set) -> Any:
    """Sends each rank its rows: `splits[r]` rows to rank r, or equally many.

    Returns the received rows, in rank order. With `splits` returns (rows, int32 array of the number
    of rows from each rank).
    """
    return handles.wait_for(alltoall_async, array, splits, name, process_set)


@explained(array=_EQUAL,
           returns="A handle, an int, for poll() and synchronize(), which returns this "
                   "rank's rows.",
           raises=OF_A_START,
           example="mine = horovodpp.synchronize(horovodpp.reducescatter_async(x))")
def reducescatter_async(array: Any, name: Optional[str] = None, op: int = Average,
                        process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
                        postscale_factor: float = 1.0) -> int:
    """Starts a reducescatter. Returns a handle for poll() and synchronize()."""
    core = member("Reducescatter", process_set)
    array, described = _of(array)
    check_scattered(array.ndim, op)
    _check_reduced(array, op)
    key = handles.claim("reducescatter", name, core)
    operation = _core.reducescatter(described, wire(name), op, prescale_factor,
                                    postscale_factor, core)
    return handles.add(operation, _result, array, key)


@explained(array=_EQUAL,
           returns="This rank's rows of the reduction, a new array.",
           example="mine = horovodpp.reducescatter(x, op=horovodpp.Sum)")
def reducescatter(array: Any, name: Optional[str] = None, op: int = Average,
                  process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
                  postscale_factor: float = 1.0) -> Any:
    """Reduces over the ranks, and returns this rank's rows: a new array.

    Of d rows, rank r of n ranks gets d // n rows, and one more if r < d % n.
    """
    return handles.wait_for(reducescatter_async, array, name, op, process_set, prescale_factor,
                            postscale_factor)
