# SPDX-License-Identifier: Apache-2.0
"""Arrays on GPUs: of cupy, numba, and other libraries with __cuda_array_interface__."""
from horovodpp import _core

# The legacy default stream in the interface; the library calls it 0.
_LEGACY_DEFAULT = 1


class GpuArray:
    """Memory of a GPU, with __cuda_array_interface__.

    cupy.asarray(x) and torch.as_tensor(x, device="cuda") use it without a copy and keep it alive.
    """

    def __init__(self, owner, address, dtype, shape):
        self._owner = owner
        self._address = address
        self.dtype = dtype
        self.shape = tuple(shape)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def __cuda_array_interface__(self):
        # Results are complete in memory, so every stream may read them.
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self._address, False),
                "strides": None, "stream": None, "version": 3}


def index_of(device):
    """The index of the GPU "cuda:1", "cuda" (the first), 1 or torch's device; CPU for "cpu"."""
    if isinstance(device, int) and device >= 0:
        return device
    kind, _, index = str(device).partition(":")
    if kind == "cpu":
        return _core.CPU
    if kind != "cuda" or not (index or "0").isdecimal():
        raise ValueError(f"device is {device!r}: use 'cpu' or a GPU such as 'cuda:0'")
    return int(index or 0)


def is_on_gpu(array):
    return hasattr(array, "__cuda_array_interface__")


def shown(array, numpy, written):
    """A GpuArray over the same memory, and its (address, GPU, stream)."""
    interface = array.__cuda_array_interface__
    address, read_only = interface["data"]
    if read_only and written:
        raise ValueError("Tensor is required to be writable, as the result takes its place.")
    dtype = numpy.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    if not _is_contiguous(interface.get("strides"), shape, dtype.itemsize):
        raise ValueError("Tensor is required to be contiguous.")
    if interface.get("mask") is not None:
        raise ValueError("Tensor is required to have no mask.")
    stream = interface.get("stream") or 0
    if stream == _LEGACY_DEFAULT:
        stream = 0
    empty = 0 in shape
    gpu = 0 if empty else _core.gpu_of(address)
    return GpuArray(array, address, dtype, shape), (address, gpu, stream)


def _is_contiguous(strides, shape, itemsize):
    if strides is None or 0 in shape:
        return True
    expected = itemsize
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True
