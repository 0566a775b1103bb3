# SPDX-License-Identifier: Apache-2.0
"""Sends gradients to the other ranks, and receives the reduced ones."""
import sys

import torch

from horovodpp import _core
from horovodpp.torch.compression import Exchanger, NoneCompressor
from horovodpp.torch.mpi_ops import (
    Average, Max, Sum, allreduce_, allreduce_async_, grouped_allreduce_async_, local_size, size,
    sparse_allreduce_async, synchronize)
from horovodpp.torch.parameters import call_name


class Sent:
    """Gradients that were sent together and are in flight, or a gradient that waits to be sent."""

    def __init__(self, gradients, finish):
        # Number -> (tensor in flight, its version). Views of one buffer share a version, which
        # says nothing about a single view.
        self._gradients = {number: (tensor, None if tensor._is_view() else tensor._version)
                           for number, tensor in gradients}
        # Waits, and writes the result into the parameters' grads. None: not sent yet.
        self.finish = finish

    def has_changed(self, number, p):
        """Whether p's gradient was written to, or replaced, since then."""
        if number not in self._gradients:
            return False
        tensor, version = self._gradients[number]
        gradient = p.grad
        if gradient is not tensor and \
                (gradient is None or gradient.data_ptr() != tensor.data_ptr()):
            return True
        return version not in (None, tensor._version)


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
        # Reducing a gradient as soon as it is complete overlaps with backward if the reduction has
        # a free core. If all cores compute, each reduction interrupts the computation, so all
        # gradients wait for the step.
        hides = local_size() < size() or \
            _core.have_spare_cores(local_size(), torch.get_num_threads())
        return 0 if hides else sys.maxsize

    def remembers(self):
        """Whether compression has a state."""
        return isinstance(self.compression, Exchanger)

    def start(self, names, tensors):
        """Sends dense tensors in one operation. Returns a function that waits for the results."""
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
        return grouped_allreduce_async_(list(tensors), name=call_name(name), op=self.op,
                                        process_set=self.process_set, **self._factors)

    def start_sparse(self, name, tensor):
        """Sends a sparse tensor; returns a function that waits and returns the result."""
        return sparse_allreduce_async(tensor, call_name(name), self.op, self.process_set)

    def reduce(self, name, tensor):
        """Reduces in place, without compression."""
        return allreduce_(tensor, name=call_name(name), op=self.op, process_set=self.process_set,
                          **self._factors)

    def most(self, name, numbers):
        """The maximum over all ranks of each of these small numbers, as a list."""
        facts = torch.frombuffer(bytearray(numbers), dtype=torch.uint8)
        name = call_name(name)
        return allreduce_(facts, name=name, op=Max, process_set=self.process_set).tolist()

    def mean(self, name, number):
        """The mean of the ranks' numbers, a tensor."""
        return allreduce_(number, name=call_name(name), process_set=self.process_set)

    def sum(self, name, number):
        """The sum of the ranks' numbers."""
        total = torch.tensor(number, dtype=torch.float64)
        return allreduce_(total, name=call_name(name), op=Sum, process_set=self.process_set).item()
