# SPDX-License-Identifier: Apache-2.0
"""A torch optimizer whose every step is the Adasum of all ranks' steps."""
import contextlib

import torch

from horovodpp.common.handles import reset_with_job
from horovodpp.common.process_sets import global_process_set
from horovodpp.torch import parameters
from horovodpp.torch.mpi_ops import Adasum, allreduce_async_, synchronize


class DistributedAdasumOptimizer(torch.optim.Optimizer):
    # DistributedOptimizer() copies these methods into a class that derives from the wrapped
    # optimizer's. Each parameter takes its own step as soon as its gradient is complete. The ranks
    # reduce the difference that this step made.

    def _begin(self, named_parameters, compression, backward_passes_per_step=1,
               process_set=global_process_set):
        self._parameter_names = parameters.names_of(
            self.param_groups, parameters.numbered(self.param_groups)
            if named_parameters is None else named_parameters)
        self._compression = compression
        self.backward_passes_per_step = backward_passes_per_step
        self.process_set = process_set
        self._passes = {}
        self._handles = {}
        self._starts = {}
        if self.process_set.included():
            for p in parameters.of_groups(self.param_groups):
                if p.requires_grad:
                    self._starts[p] = p.detach().clone()
                    parameters.hook(p, None, self._on_gradient)
        reset_with_job(self)

    def set_backward_passes_per_step(self, passes):
        """Sets the number of backward passes of a step, from now on."""
        self.backward_passes_per_step = passes
        self._passes.clear()

    def _on_gradient(self, p):
        if p in self._handles:
            parameters.refuse_another_pass()
        self._passes[p] = self._passes.get(p, 0) + 1
        if self._passes[p] >= self.backward_passes_per_step:
            self._handles[p] = self._start(p)

    def _start(self, p):
        start = self._starts[p]
        with torch.no_grad():
            start.copy_(p)
        self._step_of(p)
        with torch.no_grad():
            delta, context = self._compression.compress((p - start).contiguous())
        name = parameters.call_name(self._parameter_names[p])
        handle = allreduce_async_(delta, name=name, op=Adasum, process_set=self.process_set)
        return handle, context

    def _step_of(self, p):
        """The wrapped optimizer's step of this parameter alone."""
        groups = [group["params"] for group in self.param_groups]
        try:
            for group in self.param_groups:
                group["params"] = [other for other in group["params"] if other is p]
            self._wrapped.step(self)
        finally:
            for group, params in zip(self.param_groups, groups):
                group["params"] = params

    def synchronize(self):
        """Does nothing: Adasum reduces steps, not gradients."""

    @contextlib.contextmanager
    def skip_synchronize(self):
        raise AssertionError("Skipping synchronization is not supported when using Adasum "
                             "optimizer.")
        yield

    def step(self, closure=None):
        """Waits for the Adasum of the ranks' steps, and adds it to the parameters."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for p in self._starts:
            if p not in self._handles:
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                self._handles[p] = self._start(p)
        try:
            for p, (handle, context) in self._handles.items():
                delta = self._compression.decompress(synchronize(handle), context)
                with torch.no_grad():
                    p.copy_(self._starts[p].add_(delta))
        finally:
            self.reset()
        return loss

    def zero_grad(self, *args, **kwargs):
        """As the wrapped optimizer's. Raises AssertionError while steps are in flight."""
        if self._handles:
            parameters.refuse_zero_grad()
        return self._wrapped.zero_grad(self, *args, **kwargs)

    def reset(self):
        """Drops the steps in flight."""
        self._handles.clear()
        self._passes.clear()

    def load_state_dict(self, *args, **kwargs):
        for handle, _ in self._handles.values():
            with contextlib.suppress(Exception):
                synchronize(handle)
        self.reset()
        return self._wrapped.load_state_dict(self, *args, **kwargs)
