# SPDX-License-Identifier: Apache-2.0
"""Gradients in memory that the ranks of a node share, where they are reduced without a copy.

torch's engine allocates a gradient wherever p.grad is None. A parameter's first such gradient moves
to shared memory, and later passes accumulate into it in place. A program that drops its gradients
(zero_grad(set_to_none=True)) has a new one in each step, which stays where it is: moving it costs
more than reducing it from there. So does a gradient that the program has put into p.grad itself.
"""
from horovodpp import _core
from horovodpp.torch.arena import arena_empty
from horovodpp.torch.parameters import HAS_POST_ACCUMULATE_HOOKS


class Homes:
    """Moves the first gradient of each parameter."""

    def __init__(self, wanted):
        self._wanted = wanted and HAS_POST_ACCUMULATE_HOOKS
        self._expected = set()
        self._seen = set()

    def expect(self, p):
        """A contribution to p.grad is about to come."""
        if self._wanted and p not in self._seen:
            self._seen.add(p)
            if p.grad is None:
                self._expected.add(p)

    def take_in(self, p):
        """It has come: a gradient that was allocated for it moves."""
        if p not in self._expected:
            return
        self._expected.discard(p)
        gradient = p.grad
        if gradient.is_sparse or gradient.device.type != "cpu" or not gradient.numel():
            return
        _core.keep_freed_memory()  # The next one is allocated where this one was.
        home = arena_empty(gradient.shape, gradient.dtype)
        home.copy_(gradient)
        p.grad = home.detach()  # No view, so that its version counts.
