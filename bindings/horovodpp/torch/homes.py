# SPDX-License-Identifier: Apache-2.0
"""Gradients in memory that the ranks of a node share, where they are reduced without a copy.

torch's engine allocates a gradient wherever p.grad is None. Such a one is moved here when it is
there, once in each step; what is accumulated into it later is added in place. A gradient that the
program has put into p.grad itself stays where it is, and so does one of an earlier step that the
program still holds when the next comes: then another place is taken.
"""
import torch

from horovodpp import _core
from horovodpp.torch.arena import arena_empty

# Before torch 2.1 nobody says how many tensors share a memory.
_use_count = getattr(torch._C, "_storage_Use_Count", None)
# The place's own tensor, and the storage object that asks.
_IN_NO_OTHER_USE = 2


class Homes:
    """A place for each gradient."""

    def __init__(self, wanted):
        self._wanted = wanted and _use_count is not None
        self._places = {}
        self._expected = set()

    def expect(self, p):
        """A contribution to p.grad is about to come."""
        if self._wanted and p.grad is None:
            self._expected.add(p)
        else:
            self._expected.discard(p)

    def take_in(self, p):
        """It has come: a gradient that was allocated for it moves."""
        if p not in self._expected:
            return
        self._expected.discard(p)
        gradient = p.grad
        if gradient.is_sparse or gradient.device.type != "cpu" or not gradient.numel():
            return
        place = self._place_of(p, gradient)
        place.copy_(gradient)
        p.grad = place.detach()  # Another tensor, so that it shows whether someone holds it.

    def _place_of(self, p, gradient):
        place = self._places.get(p)
        if place is None or place.dtype != gradient.dtype or \
                place.shape != gradient.shape or \
                _use_count(place.untyped_storage()._cdata) > _IN_NO_OTHER_USE:
            if not self._places:
                _core.keep_freed_memory()
            place = arena_empty(gradient.shape, gradient.dtype)
            self._places[p] = place
        return place
