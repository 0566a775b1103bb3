# SPDX-License-Identifier: Apache-2.0
"""Complete gradients that wait to be sent together with others."""
import sys

import torch

from horovodpp import _core
from horovodpp.torch.mpi_ops import local_size, size
from horovodpp.torch.sending import Sent


def bucket_bytes_of(wanted, sender):
    """The most bytes that may wait: the user's choice, or the best for the machine."""
    if not sender.sends_where_they_lie():
        return 0
    if wanted is not None:
        return wanted
    # Reducing a gradient as soon as it is complete overlaps with backward if the reduction has a
    # free core. If all cores compute, each reduction interrupts the computation, so all gradients
    # wait for the step.
    hides = local_size() < size() or _core.have_spare_cores(local_size(), torch.get_num_threads())
    return 0 if hides else sys.maxsize


class Held:
    """Gradients that wait, in order of arrival, until they have `most` bytes; 0: none wait."""

    def __init__(self, most):
        self._most = most
        self._waiting = {}  # Parameter -> Sent without a finish function.
        self._bytes = 0

    def __contains__(self, p):
        return p in self._waiting

    def __len__(self):
        return len(self._waiting)

    def waiting(self):
        """Parameter -> result of get()."""
        return dict(self._waiting)

    def get(self, p):
        """The Sent of p's gradient when it arrived; None if it does not wait."""
        return self._waiting.get(p)

    def has_only(self, members):
        """Whether all waiting gradients are among `members`."""
        return self._waiting.keys() <= set(members)

    def waits(self):
        """Whether gradients may wait at all."""
        return bool(self._most)

    def takes(self, gradient):
        """Whether such a gradient may wait: a dense one on the CPU."""
        return bool(self._most) and gradient.is_cpu and not gradient.is_sparse

    def add(self, p, gradient, is_nested):
        """Adds a gradient. Returns whether the waiting gradients have reached `most` bytes."""
        self._waiting[p] = Sent([(p, gradient)], None, is_nested)
        self._bytes += gradient.numel() * gradient.element_size()
        return self._bytes >= self._most

    def renew(self, p):
        """Records p.grad again, after a permitted contribution."""
        self._waiting[p] = Sent([(p, p.grad)], None, self._waiting[p].is_nested)

    def release(self):
        """Removes and returns the waiting gradients, as (parameter, Sent)."""
        waiting = list(self._waiting.items())
        self.clear()
        return waiting

    def clear(self):
        """Removes the waiting gradients."""
        self._waiting.clear()
        self._bytes = 0
