# SPDX-License-Identifier: Apache-2.0
"""Detects complete gradients where torch's engine does not mark the last contribution.

A reentrant checkpoint runs backward within backward. The gradient of a weight that is tied, or used
in several regions, then comes in parts. The number of parts is learned from the step before.
"""
import sys
import warnings

import torch

# Before torch 2.0 backward passes have no numbers.
_number_of_pass = getattr(torch._C, "_current_graph_task_id", None)


class Passes:
    """Detects whether the engine runs within another run, as in a reentrant checkpoint."""

    def __init__(self):
        self._known = -1
        self._is_nested = False

    def is_nested(self):
        number = -1 if _number_of_pass is None else _number_of_pass()
        if number < 0 or number != self._known:
            self._known = number
            self._is_nested = _is_called_by_a_node()
        return self._is_nested


def _is_called_by_a_node():
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "apply" and \
                frame.f_globals.get("__name__") == "torch.autograd.function":
            return True
        frame = frame.f_back
    return False


class Contributions:
    """Counts contributions to each gradient, since the last step and in a backward pass."""

    def __init__(self):
        self._came = {}
        self.parts = {}  # Parameter -> number of parts in a backward pass, if not one.
        self.late = {}  # Parameter -> gradient in flight when another part came.
        self._told = False

    def add(self, p, passes):
        """Counts a contribution; returns whether it completes, or exceeds, `passes` passes."""
        count = self._came.get(p, 0) + 1
        self._came[p] = count
        return count >= passes * self.parts.get(p, 1)

    def put_aside(self, p, name):
        """Sets the gradient in flight aside: the engine allocates another one for later parts."""
        self.late[p] = p.grad
        p.grad = None
        if self._told:
            return
        self._told = True
        warnings.warn(
            f"The gradient of '{name}' came in several parts within one backward pass, and was "
            "sent before the last: a weight that is used in several reentrant checkpoints does "
            "that. It is completed now; from the next step on it is sent after the last part. "
            "torch.utils.checkpoint(use_reentrant=False) has one part only.", stacklevel=3)

    def start_anew(self):
        """Restarts the counts, for another number of passes."""
        self._came.clear()

    def learn(self, passes):
        """Learns the number of parts, at the end of a step."""
        for p, count in self._came.items():
            if p in self.late or p in self.parts:
                self.parts[p] = -(-count // passes)

    def reset(self):
        self._came.clear()
        self.late.clear()
