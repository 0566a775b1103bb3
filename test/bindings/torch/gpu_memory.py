# SPDX-License-Identifier: Apache-2.0
"""Memory on the fake library's GPUs, for tests. Only CUDA's driver API reads and writes it."""
import ctypes
import os

import numpy

LIBRARY = os.environ.get("HOROVODPP_CUDA_LIBRARY")


class Gpu:
    """A GPU with a stream that is late on purpose."""

    def __init__(self, index=0):
        self._cuda = ctypes.CDLL(LIBRARY)
        self.index = index
        assert self._call("cuInit", 0) == 0
        device = ctypes.c_int()
        self._context = ctypes.c_void_p()
        assert self._call("cuDeviceGet", ctypes.byref(device), index) == 0
        assert self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device) == 0
        stream = ctypes.c_void_p()
        self._within("cuStreamCreateWithPriority", ctypes.byref(stream), 1, 0)
        self.stream = stream.value

    def _call(self, name, *arguments):
        return getattr(self._cuda, name)(*arguments)

    def _within(self, name, *arguments):
        assert self._call("cuCtxPushCurrent_v2", self._context) == 0
        result = self._call(name, *arguments)
        assert self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p())) == 0
        assert result == 0, (name, result)

    def allocate(self, size):
        address = ctypes.c_uint64()
        self._within("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address.value

    def copy(self, to, source, size):
        """Copies, in the stream."""
        self._within("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source),
                     ctypes.c_size_t(size), ctypes.c_void_p(self.stream))

    def synchronize(self):
        self._within("cuStreamSynchronize", ctypes.c_void_p(self.stream))

    def put(self, values):
        """An Array of these values, whose copy is most likely still in flight."""
        values = numpy.ascontiguousarray(values)
        array = Array(self, self.allocate(values.nbytes), values.dtype, values.shape)
        array.sent = values  # Kept until it is copied.
        self.copy(array.address, values.ctypes.data, values.nbytes)
        return array


class Array:
    """An array like cupy's, as the library sees it."""

    def __init__(self, gpu, address, dtype, shape):
        self.gpu, self.address, self.dtype, self.shape = gpu, address, dtype, shape
        self.strides = None
        self.read_only = False

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "strides": self.strides,
                "data": (self.address, self.read_only), "stream": self.gpu.stream, "version": 3}


def values_of(array, gpu):
    """The values of any object with __cuda_array_interface__, as a numpy array."""
    interface = array.__cuda_array_interface__
    values = numpy.empty(interface["shape"], interface["typestr"])
    gpu.copy(values.ctypes.data, interface["data"][0], values.nbytes)
    gpu.synchronize()
    return values
