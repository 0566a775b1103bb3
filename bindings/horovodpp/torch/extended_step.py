# SPDX-License-Identifier: Apache-2.0
"""All work between backward and the step, in one call and in the only right order."""
import collections
import math

import torch

from horovodpp.torch import parameters
from horovodpp.torch.mpi_ops import Average

StepResult = collections.namedtuple("StepResult", "loss stepped norm")
StepResult.__doc__ = """The result of optimizer.step(max_norm=..., grad_scaler=..., weight=...).

loss: the loss that the closure returned on this rank; None without a closure.
stepped: False if gradients had overflowed and the step was skipped.
norm: the norm of all gradients before clipping, as a scalar tensor on their device; None without a
    max_norm.
"""


def take(optimizer, closure, weight, grad_scaler, max_norm, update_scaler):
    """step() with at least one of these arguments.

    Results about gradients stay on their GPU. The host reads one number, whether all gradients are
    finite, because it decides whether to step. With max_norm, clip_grad_norm_() reads that number;
    with a scaler, the scaler's step() does.
    """
    if weight is not None:
        _check_weight(optimizer, weight)
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    optimizer.finish_gradients()
    if weight is not None:
        _apply_weight(optimizer, weight)
    if grad_scaler is not None:
        grad_scaler.unscale_(optimizer)
    norm = None
    if max_norm is not None:
        norm = torch.nn.utils.clip_grad_norm_(
            parameters.of_groups(optimizer.param_groups), max_norm,
            error_if_nonfinite=grad_scaler is None)
    before = optimizer.steps_taken
    with optimizer.skip_synchronize():
        if grad_scaler is None:
            optimizer.step()
        else:
            grad_scaler.step(optimizer)
    if grad_scaler is not None and update_scaler:
        grad_scaler.update()
    return StepResult(loss, optimizer.steps_taken > before, norm)


def _check_weight(optimizer, weight):
    if optimizer.op != Average:
        raise ValueError("weight requires op=Average")
    if not math.isfinite(weight) or weight < 0:
        raise ValueError(f"weight is {weight}: give the number of samples on this rank")


def _apply_weight(optimizer, weight):
    """Converts the mean of the ranks' gradients to the mean over all samples."""
    total = optimizer.sum_over_ranks("weight", weight)
    if total <= 0:
        raise ValueError("the weights of all ranks are 0: the mean gradient is undefined")
    ranks = optimizer.process_set.size() if optimizer.process_set.included() else 1
    with torch.no_grad():
        for p in parameters.of_groups(optimizer.param_groups):
            if p.grad is not None:
                p.grad.mul_(ranks / total)
