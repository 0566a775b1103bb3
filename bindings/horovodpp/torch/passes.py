# SPDX-License-Identifier: Apache-2.0
"""Tells backward passes apart that torch's engine runs within another one."""
import sys

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
