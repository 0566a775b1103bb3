# SPDX-License-Identifier: Apache-2.0
"""A torch optimizer whose every step is the Adasum of all ranks' steps."""
import contextlib

import torch

from horovodpp import _core
from horovodpp.common.checks import check_job_of_step
from horovodpp.common.handles import reset_with_job
from horovodpp.common.process_sets import global_process_set
from horovodpp.torch import parameters
from horovodpp.torch.mpi_ops import Adasum, allreduce_async_, synchronize
from horovodpp.torch.untraced import untraced


class DistributedAdasumOptimizer(torch.optim.Optimizer):
    # DistributedOptimizer() copies these methods into a class that derives from the wrapped
    # optimizer's. Each parameter takes its own step as soon as its gradient is complete. The ranks
    # reduce the difference that this step made.

    def _begin(self, named_parameters, compression, backward_passes_per_step=1,
               process_set=global_process_set):
        self._parameter_names = parameters.names_of(self.param_groups, named_parameters)
        self._compression = compression
        self.process_set = process_set
        self._ledger = _core.GradientLedger()
        self._watched = parameters.Watched(self, self._parameter_names, self._ledger,
                                           self._before_gradient, self._on_gradient)
        self._starts = {}  # Parameter -> its value before the step.
        self._handles = {}  # Parameter -> (handle, context), of steps in flight.
        self.set_backward_passes_per_step(backward_passes_per_step)
        if self.process_set.included():
            self._watched.watch()
        reset_with_job(self)

    def set_backward_passes_per_step(self, passes):
        """Sets the number of backward passes of a step, from now on."""
        self.backward_passes_per_step = passes
        self._ledger.expect_of_all(passes)
        self._ledger.forget_contributions()

    @untraced
    def _before_gradient(self, number, p, _):
        if self._ledger.is_taken(number):
            parameters.refuse_another_pass()

    @untraced
    def _on_gradient(self, number, p):
        if self._ledger.count(number) is _core.ContributionState.COMPLETE:
            self._start(number, p)

    def _start(self, number, p):
        if p not in self._starts:
            self._starts[p] = torch.empty_like(p, requires_grad=False)
        with torch.no_grad():
            start = self._starts[p].copy_(p)
        self._step_of(p)
        with torch.no_grad():
            delta, context = self._compression.compress((p - start).contiguous())
        name = parameters.call_name(self._parameter_names[p])
        handle = allreduce_async_(delta, name=name, op=Adasum, process_set=self.process_set)
        self._handles[p] = handle, context
        self._ledger.mark_sent(number)

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
        """Waits for the Adasum of the ranks' steps, and adds it to the parameters.

        Raises ValueError after the job's end.
        """
        check_job_of_step()
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self.process_set.included():
            for number in self._ledger.rest(self._watched.watch()):
                p = self._watched.parameters[number]
                if p.grad is None:
                    p.grad = parameters.zero_gradient(p)
                self._start(number, p)
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
        self._ledger.reset()

    def load_state_dict(self, *args, **kwargs):
        for handle, _ in self._handles.values():
            with contextlib.suppress(Exception):
                synchronize(handle)
        self.reset()
        return self._wrapped.load_state_dict(self, *args, **kwargs)
