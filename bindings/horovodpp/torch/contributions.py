# SPDX-License-Identifier: Apache-2.0
"""When a gradient is complete, where torch's engine does not say which contribution is the last.

A reentrant checkpoint runs backward within backward, and a weight that is tied or used in several
regions then gets its gradient in parts. How many there are is learned from the step before.
"""
import sys
import warnings

import torch

# Before torch 2.0 backward passes have no numbers.
_number_of_pass = getattr(torch._C, "_current_graph_task_id", None)


class Passes:
    """Whether the engine runs for a node of another run, as in a reentrant checkpoint."""

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
    """How many each gradient has had since the last step, and has in a backward pass."""

    def __init__(self):
        self._came = {}
        self.parts = {}  # Parameter -> how many come in a backward pass, if not one.
        self.late = {}  # Parameter -> the gradient that was on its way when more of it came.
        self._told = False

    def add(self, p, passes):
        """Another one has come; whether it is the last of so many passes, or one beyond."""
        count = self._came.get(p, 0) + 1
        self._came[p] = count
        return count >= passes * self.parts.get(p, 1)

    def put_aside(self, p, name):
        """Leaves what is on its way alone: the engine makes another gradient of what comes."""
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
        """For another number of passes."""
        self._came.clear()

    def learn(self, passes):
        """A step is over: so many parts there were."""
        for p, count in self._came.items():
            if p in self.late or p in self.parts:
                self.parts[p] = -(-count // passes)

    def reset(self):
        self._came.clear()
        self.late.clear()
