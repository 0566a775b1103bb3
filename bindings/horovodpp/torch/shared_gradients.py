# SPDX-License-Identifier: Apache-2.0
"""Moves gradients to memory that the ranks of a node share, so that they are reduced in place.

torch's engine allocates a gradient if p.grad is None. The first such gradient of a parameter moves
to shared memory, and later passes accumulate into it in place. A program that drops its gradients
(zero_grad(set_to_none=True)) gets a new gradient in each step. Such a gradient is not moved,
because a move costs more than the reduction. A gradient that the program has assigned to p.grad is
not moved either.
"""
from horovodpp import _core
from horovodpp.torch.arena import arena_empty
from horovodpp.torch.parameters import HAS_POST_ACCUMULATE_HOOKS


class SharedGradients:
    """Moves the first gradient of each parameter. Parameters have indices."""

    def __init__(self, wanted):
        self._wanted = wanted and HAS_POST_ACCUMULATE_HOOKS
        self._expected = set()
        self._seen = set()

    def expect(self, index, p):
        """Call before a contribution to p.grad."""
        if self._wanted and index not in self._seen:
            self._seen.add(index)
            if p.grad is None:
                self._expected.add(index)

    def take_in(self, index, p):
        """Call after the contribution. Moves a gradient that was allocated for the contribution."""
        if index not in self._expected:
            return
        self._expected.discard(index)
        gradient = p.grad
        if gradient.is_sparse or gradient.device.type != "cpu" or not gradient.numel():
            return
        _core.keep_freed_memory()  # The next gradient is allocated where this one was.
        home = arena_empty(gradient.shape, gradient.dtype)
        home.copy_(gradient)
        p.grad = home.detach()  # Not a view, so that its version counts.
