# SPDX-License-Identifier: Apache-2.0
"""A dry step on all ranks, before hours are spent."""
from __future__ import annotations

import math
from typing import Any, Callable, List, Optional
import time

import torch

from horovodpp import _core
from horovodpp.common.explained import explained
from horovodpp.torch.dtypes import describe


class VerifyReport:
    """The result of verify(), equal on all ranks.

    problems: texts; each has to be mended, since ranks would diverge, wait for each other, or
        compute with invalid numbers.
    notes: texts; each may be intended.
    summary: data that a step communicates, and time and memory of each rank.

    It is true if there are no problems. str() is all of it, a line for each.
    """

    def __init__(self, problems: List[str], notes: List[str], summary: str) -> None:
        self.problems = problems
        self.notes = notes
        self.summary = summary

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return "\n".join([*(f"problem: {text}" for text in self.problems),
                          *(f"note: {text}" for text in self.notes), self.summary])


@explained(model="the model of this rank.",
           returns="A VerifyReport, equal on all ranks: false if it has problems.",
           example="""
               report = hvd.verify(model, batch)
               if not report:
                   raise SystemExit(str(report))""")
def verify(model: torch.nn.Module, batch: Any,
           loss: Optional[Callable[[Any, Any], torch.Tensor]] = None) -> VerifyReport:
    """Makes a dry step on all ranks, and reports what would go wrong later.

    Example:
        report = hvd.verify(model, batch, loss=lambda model, batch: cross_entropy(
            model(batch[0]), batch[1]))
        if hvd.rank() == 0:
            print(report)

    Computes the loss and its gradients twice, with the same random numbers, and compares names,
    shapes, dtypes, values, gradients and their order between the ranks. Changes no parameter,
    gradient, buffer or random state, and runs no hook of a DistributedOptimizer. Every rank calls
    it; the report is the same on all.

    Args:
        batch: a batch of this rank. A tuple or dict holds the arguments of the model.
        loss: a function of (model, batch) that returns a scalar tensor. Without it, the loss is the
            sum of the means of the model's outputs, or their `loss` if they have one.

    Returns a VerifyReport. Raises ValueError if there is no such loss.
    """
    parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    kept = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    buffers = _Rows()
    for name, buffer in model.named_buffers():
        buffers.add(name, buffer)
    devices = {p.device for _, p in parameters if p.is_cuda}

    def make_step():
        try:
            with torch.random.fork_rng(devices):
                return _Step(model, parameters, batch, loss or _default_loss)
        finally:
            with torch.no_grad():
                for buffer, value in kept:
                    buffer.copy_(value)

    first, second = make_step(), make_step()
    rows = _Rows()
    for (name, p), gradient, again, place in zip(parameters, first.gradients, second.gradients,
                                                 first.places):
        rows.add(name, p, gradient, again, place)
    same_loss = first.loss == second.loss or math.isnan(first.loss) and math.isnan(second.loss)
    own = sum(tensor.numel() * tensor.element_size()
              for tensor in [p for _, p in parameters] + [buffer for buffer, _ in kept])
    return VerifyReport(*_core.compare_dry_steps(
        rows.rows, buffers.rows, first.loss, same_loss, first.seconds, own + first.bytes))


class _Step:
    """The loss of a batch and its gradients, which are not added to the parameters."""

    def __init__(self, model, parameters, batch, loss_of):
        self._own = {_storage_of(p).data_ptr() for _, p in parameters}
        self._saved = {}  # Bytes by address.
        self.places = [-1] * len(parameters)
        leaves = [p for _, p in parameters]
        hooks = [p.register_hook(self._noter_of(number)) for number, p in enumerate(leaves)]
        self._next = 0
        try:
            self._compute(model, batch, loss_of, leaves)
        finally:
            for hook in hooks:
                hook.remove()
        # Saved values and gradients are held together at the end of forward, at most.
        self.bytes = sum(self._saved.values()) + sum(
            gradient.numel() * gradient.element_size()
            for gradient in self.gradients if gradient is not None)

    def _compute(self, model, batch, loss_of, leaves):
        begin = time.perf_counter()
        with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(self._save, lambda x: x):
            value = loss_of(model, batch)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            raise ValueError("verify() needs a loss of one element; give it a function `loss` of "
                             "(model, batch)")
        self.gradients = torch.autograd.grad(value, leaves, allow_unused=True)
        self.loss = value.detach().item()
        self.seconds = time.perf_counter() - begin

    def _save(self, tensor):
        storage = _storage_of(tensor)
        if storage.data_ptr() not in self._own:
            self._saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    def _noter_of(self, number):
        def note(_):
            self.places[number] = self._next
            self._next += 1
        return note


def _storage_of(tensor):
    # Before torch 2.0 there is no untyped_storage().
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def _default_loss(model, batch):
    if isinstance(batch, dict):
        output = model(**batch)
    else:
        output = model(*batch) if isinstance(batch, (tuple, list)) else model(batch)
    given = getattr(output, "loss", None)
    if given is not None:
        return given
    outputs = output.values() if isinstance(output, dict) else (
        output if isinstance(output, (tuple, list)) else [output])
    return sum(each.mean() for each in outputs
               if isinstance(each, torch.Tensor) and each.is_floating_point())


class _Rows:
    """Descriptions of tensors for the library, and the memory that they describe."""

    def __init__(self):
        self.rows = []
        self._memory = []

    def add(self, name, tensor, gradient=None, again=None, place=-1):
        layout = f"{str(tensor.dtype).partition('.')[2]}{list(tensor.shape)}"
        values = self._describe(tensor)
        is_finite, is_reproduced = True, again is None
        if gradient is not None:
            is_finite = bool(torch.isfinite(_dense(gradient)).all())
            is_reproduced = again is not None and torch.equal(_bytes_of(gradient),
                                                              _bytes_of(again))
            gradient = self._describe(gradient)
        self.rows.append((name, layout, values, gradient, is_finite, is_reproduced, place))

    def _describe(self, tensor):
        self._memory.append(_bytes_of(tensor))
        return describe(self._memory[-1])


def _dense(tensor):
    return tensor.to_dense() if tensor.is_sparse else tensor


def _bytes_of(tensor):
    return _dense(tensor.detach()).cpu().contiguous().reshape(-1).view(torch.uint8)
