# SPDX-License-Identifier: Apache-2.0
"""The custom Functions of functions.cc, for PyTorch."""

import torch


def told_by(saved):
    return 1 + saved.requires_grad + 2 * saved.is_leaf + 4 * (saved.grad_fn is not None)


class Asking(torch.autograd.Function):
    """Its gradients depend on properties of its saved tensors."""

    @staticmethod
    def forward(context, x, y):
        z = x * y
        context.save_for_backward(x, y, z)
        return z

    @staticmethod
    def backward(context, gradient):
        x, y, z = context.saved_tensors
        return gradient * y * told_by(x), gradient * x * (told_by(y) * told_by(z))


class Recomputing(torch.autograd.Function):
    """sin(x) * y, as torch.utils.checkpoint's CheckpointFunction."""

    @staticmethod
    def forward(context, x, y):
        context.save_for_backward(x, y)
        return torch.sin(x) * y

    @staticmethod
    def backward(context, gradient):
        inputs = [t.detach().requires_grad_(t.requires_grad) for t in context.saved_tensors]
        with torch.enable_grad():
            z = torch.sin(inputs[0]) * inputs[1]
        if z.requires_grad:
            torch.autograd.backward(z, gradient)
        return tuple(t.grad for t in inputs)
