# SPDX-License-Identifier: Apache-2.0
"""Sends gradients to the other ranks, and receives the reduced ones."""
import torch

from horovodpp import _core
from horovodpp.common.process_sets import member
from horovodpp.torch.compression import Exchanger, NoneCompressor
from horovodpp.torch.mpi_ops import (
    Average, Sum, allreduce_, allreduce_async_, grouped_allreduce_async_, local_size, size,
    sparse_allreduce_async, synchronize)
from horovodpp.torch.parameters import call_name


class Held:
    """A gradient that waits to be sent."""

    __slots__ = ("_tensor", "_version")
    finish = None

    def __init__(self, tensor):
        self._tensor = tensor
        self._version = _version_of(tensor)

    def has_changed(self, _, p):
        """Whether p's gradient was written to, or replaced, since then."""
        return _has_changed(p, self._tensor, self._version)


class Sent:
    """Gradients that were sent together and are in flight."""

    __slots__ = ("_gradients", "finish")

    def __init__(self, gradients, finish):
        # Number -> (tensor in flight, its version).
        self._gradients = {number: (tensor, _version_of(tensor)) for number, tensor in gradients}
        self.finish = finish  # Waits, and writes the result into the parameters' grads.

    def has_changed(self, number, p):
        """Whether p's gradient was written to, or replaced, since then."""
        return number in self._gradients and _has_changed(p, *self._gradients[number])


def _version_of(tensor):
    # Views of one buffer share a version, which says nothing about a single view.
    return None if tensor._is_view() else tensor._version


def _has_changed(p, tensor, version):
    gradient = p.grad
    if gradient is not tensor and \
            (gradient is None or gradient.data_ptr() != tensor.data_ptr()):
        return True
    return version is not None and version != tensor._version


class Sender:
    """Sends the gradients of one optimizer."""

    def __init__(self, compression, op, gradient_predivide_factor, process_set):
        self.compression = compression
        self.op = op
        self.gradient_predivide_factor = gradient_predivide_factor
        self.process_set = process_set
        self._factors = {}
        if op == Average and gradient_predivide_factor != 1.0:
            self._factors = {"prescale_factor": 1.0 / gradient_predivide_factor,
                             "postscale_factor": gradient_predivide_factor}

    def sends_in_place(self):
        """Whether gradients are reduced in their own memory."""
        return self.compression is NoneCompressor

    def bucket_bytes(self, wanted):
        """The most bytes that may wait: the user's choice, or the best for the machine."""
        if not self.sends_in_place():
            return 0
        if wanted is not None:
            return wanted
        return _core.best_bucket_bytes(local_size(), size(), torch.get_num_threads())

    def remembers(self):
        """Whether compression has a state."""
        return isinstance(self.compression, Exchanger)

    def start(self, names, tensors):
        """Sends dense tensors in one operation. Returns a function that waits for the results.

        If sends_in_place(), the first name is enough.
        """
        if self.sends_in_place():
            handle = self._submit(names[0], tensors)
            return lambda: synchronize(handle)
        if self.remembers() and all(
                tensor.dtype == torch.float32 and not tensor.is_cuda for tensor in tensors):
            return self.compression.start(names, tensors, self.op, self.process_set,
                                          **self._factors)
        if self.remembers():
            compressed, contexts = tensors, [None] * len(tensors)
            decompress = NoneCompressor.decompress
        else:
            compressed, contexts = zip(*map(self.compression.compress, tensors))
            decompress = self.compression.decompress
        handle = self._submit(names[0], compressed)

        def finish():
            reduced = synchronize(handle)
            if len(tensors) == 1:
                reduced = [reduced]
            for tensor, result, context in zip(tensors, reduced, contexts):
                result = decompress(result, context)
                if result is not tensor:
                    tensor.copy_(result)

        return finish

    def _submit(self, name, tensors):
        if len(tensors) == 1:
            return allreduce_async_(tensors[0], name=call_name(name), op=self.op,
                                    process_set=self.process_set, **self._factors)
        return grouped_allreduce_async_(tensors, name=call_name(name), op=self.op,
                                        process_set=self.process_set, **self._factors)

    def start_sparse(self, name, tensor):
        """Sends a sparse tensor; returns a function that waits and returns the result."""
        return sparse_allreduce_async(tensor, call_name(name), self.op, self.process_set)

    def reduce(self, name, tensor):
        """Reduces in place, without compression."""
        return allreduce_(tensor, name=call_name(name), op=self.op, process_set=self.process_set,
                          **self._factors)

    def most(self, name, numbers):
        """The maximum over all ranks of each byte of `numbers`, as bytes."""
        return _core.most(numbers, call_name(name), member("Allreduce", self.process_set))

    def mean(self, name, number):
        """The mean of the ranks' numbers, a tensor."""
        return allreduce_(number, name=call_name(name), process_set=self.process_set)

    def sum(self, name, number):
        """The sum of the ranks' numbers."""
        total = torch.tensor(number, dtype=torch.float64)
        return allreduce_(total, name=call_name(name), op=Sum, process_set=self.process_set).item()
