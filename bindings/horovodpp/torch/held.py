# SPDX-License-Identifier: Apache-2.0
"""Gradients that are complete, and wait for others to be sent with them."""
import sys

import torch

from horovodpp import _core
from horovodpp.torch.mpi_ops import local_size, size
from horovodpp.torch.sending import Sent


def bucket_bytes_of(wanted, sender):
    """How many bytes wait at most: what the user wants, or what the machine asks for."""
    if not sender.sends_where_they_lie():
        return 0
    if wanted is not None:
        return wanted
    # Reducing a gradient as soon as it is complete hides it where there is a core for it. Where
    # all cores compute, it stops the computation, as often as that happens: all wait for the step.
    hides = local_size() < size() or _core.have_spare_cores(local_size(), torch.get_num_threads())
    return 0 if hides else sys.maxsize


class Held:
    """Of parameters, in the order of coming, until they have `most` bytes; 0: none is held."""

    def __init__(self, most):
        self._most = most
        self._waiting = {}  # Parameter -> Sent, which finishes nothing.
        self._bytes = 0

    def __contains__(self, p):
        return p in self._waiting

    def __len__(self):
        return len(self._waiting)

    def waiting(self):
        """Parameter -> what get() gives."""
        return dict(self._waiting)

    def get(self, p):
        """How p's gradient was when it came; None: it does not wait."""
        return self._waiting.get(p)

    def has_only(self, members):
        """Whether what waits is among these."""
        return self._waiting.keys() <= set(members)

    def waits(self):
        """Whether gradients are held at all."""
        return bool(self._most)

    def takes(self, gradient):
        """Whether such a gradient waits: a dense one of CPUs."""
        return bool(self._most) and gradient.is_cpu and not gradient.is_sparse

    def add(self, p, gradient, is_nested):
        """Lets it wait; whether there are as many bytes now as there may be."""
        self._waiting[p] = Sent([(p, gradient)], None, is_nested)
        self._bytes += gradient.numel() * gradient.element_size()
        return self._bytes >= self._most

    def renew(self, p):
        """p.grad has had another contribution, rightly."""
        self._waiting[p] = Sent([(p, p.grad)], None, self._waiting[p].is_nested)

    def release(self):
        """What has waited, as (parameter, Sent)."""
        waiting = list(self._waiting.items())
        self.clear()
        return waiting

    def clear(self):
        """Forgets what has waited."""
        self._waiting.clear()
        self._bytes = 0
