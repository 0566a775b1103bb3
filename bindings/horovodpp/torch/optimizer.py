# SPDX-License-Identifier: Apache-2.0
"""An optimizer of torch whose gradients are reduced over the ranks while backward runs.

In one step a parameter's gradient is handed over once, after its last contribution. Where torch's
engine gives no sign of which one is the last (a reentrant checkpoint runs backward within backward,
and a weight that is tied or used in several regions then gets its gradient in parts), the optimizer
learns from the step before how many there are; and what comes after all is reduced by itself and
added, with one warning, so that the result is right in any case.
"""
import contextlib
import itertools
import sys
import warnings

import torch

from horovodpp.common.process_sets import core_of, global_process_set
from horovodpp.torch import parameters
from horovodpp.torch.adasum_optimizer import DistributedAdasumOptimizer
from horovodpp.torch.compression import Compression
from horovodpp.torch.mpi_ops import (
    Adasum, Average, Max, Sum, allreduce_, allreduce_async_, grouped_allreduce_async_, size,
    sparse_allreduce_async, synchronize)


def _is_within_another_backward():
    """Whether the engine runs for a node of another run, as in a reentrant checkpoint."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "apply" and \
                frame.f_globals.get("__name__") == "torch.autograd.function":
            return True
        frame = frame.f_back
    return False


class _Sent:
    """A gradient, or a group of them, on its way."""

    def __init__(self, gradients, finish):
        self.gradients = gradients  # (parameter, tensor on its way, the tensor's version)
        self.finish = finish  # Waits, and leaves the result in the parameter's grad.
        self.within_another_backward = _is_within_another_backward()


class _DistributedOptimizer(torch.optim.Optimizer):
    # Methods become those of a class that derives from the wrapped optimizer's, `_wrapped`: see
    # DistributedOptimizer().

    def _begin(self, named_parameters, compression, backward_passes_per_step=1, op=Average,
               gradient_predivide_factor=1.0, groups=None, sparse_as_dense=False,
               process_set=global_process_set):
        self._parameter_names = parameters.names_of(
            self.param_groups, parameters.numbered_by_group(self.param_groups)
            if named_parameters is None else named_parameters)
        self._suffix = _suffix_of_next(process_set)
        self._compression = compression
        self.backward_passes_per_step = backward_passes_per_step
        self.op = op
        self.gradient_predivide_factor = gradient_predivide_factor
        self.sparse_as_dense = sparse_as_dense
        self.process_set = process_set

        self._handles = {}  # Parameter -> _Sent, in the order of sending.
        self._contributions = {}  # Parameter -> how many came since the last step.
        self._expected = {}  # Parameter -> how many come in a backward pass, if not one.
        self._late = {}  # Parameter -> the gradient that was on its way when more of it came.
        self._sparse_dims = {}  # Parameter with sparse gradients -> their sparse_dim().
        self._synchronized = False
        self._should_synchronize = True
        self._hooked = set()
        self._warned = set()
        self._group_of = {}
        for group in parameters.groups_of(groups, self._parameter_names, process_set):
            self._group_of.update((p, group) for p in group)
        self._ready_in_group = {}
        if self._is_distributed():
            self._register_hooks()

    def _is_distributed(self):
        return self.process_set.included() and size() > 1

    def _wire_name(self, p):
        return self._parameter_names[p] + self._suffix

    # --- Hooks ---

    def _register_hooks(self):
        for name, p in parameters.numbered_by_group(self.param_groups):
            if not p.requires_grad or p in self._hooked:
                continue
            self._parameter_names.setdefault(p, name)
            self._hooked.add(p)
            parameters.hook(p, self._before_gradient, self._on_gradient)

    def _before_gradient(self, p):
        """A contribution is about to be added to p.grad: not to one that is on its way."""
        if p not in self._handles or p in self._late:
            return
        if not _is_within_another_backward() and not self._handles[p].within_another_backward:
            parameters.refuse_another_pass()
        self._late[p] = p.grad
        p.grad = None
        if "late" not in self._warned:
            self._warned.add("late")
            warnings.warn(
                f"The gradient of '{self._parameter_names[p]}' came in several parts within one "
                "backward pass, and was sent before the last: a weight that is used in several "
                "reentrant checkpoints does that. It is completed now; from the next step on it "
                "is sent after the last part. torch.utils.checkpoint(use_reentrant=False) has "
                "one part only.", stacklevel=2)

    def _on_gradient(self, p):
        self._synchronized = False
        count = self._contributions.get(p, 0) + 1
        self._contributions[p] = count
        if p not in self._handles and \
                count >= self.backward_passes_per_step * self._expected.get(p, 1):
            self._send(p)

    # --- Sending ---

    def _factors(self):
        if self.op == Average and self.gradient_predivide_factor != 1.0:
            return 1.0 / self.gradient_predivide_factor, self.gradient_predivide_factor
        return 1.0, 1.0

    def _send(self, p):
        group = self._group_of.get(p)
        if group is None:
            self._handles[p] = self._start(p)
            return
        members = [member for member in group if member.requires_grad]
        ready = self._ready_in_group.setdefault(id(group), set())
        ready.add(p)
        if len(ready) == len(members):
            self._start_group(members)

    def _gradient(self, p):
        if p.grad is None:
            # Another part of the model was used on this rank: what it adds is nothing.
            p.grad = _nothing(p, self._sparse_dims.get(p))
        elif p.grad.is_sparse:
            self._sparse_dims[p] = p.grad.sparse_dim()
        elif not p.grad.is_contiguous():
            p.grad = p.grad.contiguous()
        return p.grad

    def _start(self, p):
        gradient = self._gradient(p)
        if not gradient.is_sparse:
            return self._start_dense(p, gradient)
        if self.sparse_as_dense:
            return self._start_dense(p, gradient.to_dense().contiguous(),
                                     lambda dense: dense.to_sparse(self._sparse_dims[p]))
        wait = sparse_allreduce_async(gradient, self._wire_name(p), self.op, self.process_set)

        def finish():
            p.grad = wait()

        return _Sent([], finish)

    def _start_dense(self, p, gradient, convert=None):
        compressed, context = self._compression.compress(gradient)
        prescale, postscale = self._factors()
        handle = allreduce_async_(compressed, name=self._wire_name(p), op=self.op,
                                  prescale_factor=prescale, postscale_factor=postscale,
                                  process_set=self.process_set)

        def finish():
            reduced = self._compression.decompress(synchronize(handle), context)
            if convert is not None:
                p.grad = convert(reduced)
            elif reduced is not gradient:
                gradient.copy_(reduced)

        return _Sent([] if convert else [(p, gradient, gradient._version)], finish)

    def _start_group(self, members):
        gradients = [self._gradient(member) for member in members]
        dense = [(p, gradient) for p, gradient in zip(members, gradients)
                 if not gradient.is_sparse]
        for p, gradient in zip(members, gradients):
            if gradient.is_sparse:
                self._handles[p] = self._start(p)
        if not dense:
            return
        gradients = [gradient for _, gradient in dense]
        compressed, contexts = zip(*(self._compression.compress(g) for g in gradients))
        prescale, postscale = self._factors()
        handle = grouped_allreduce_async_(
            list(compressed), name=self._wire_name(dense[0][0]), op=self.op,
            prescale_factor=prescale, postscale_factor=postscale, process_set=self.process_set)

        def finish():
            for reduced, context, gradient in zip(synchronize(handle), contexts, gradients):
                reduced = self._compression.decompress(reduced, context)
                if reduced is not gradient:
                    gradient.copy_(reduced)

        sent = _Sent([(p, gradient, gradient._version) for p, gradient in dense], finish)
        self._handles.update((p, sent) for p, _ in dense)

    # --- The step ---

    def synchronize(self):
        """Waits until every gradient is that of all ranks. Gradients may be changed then."""
        if self._is_distributed():
            self._register_hooks()  # Of parameters that were added or unfrozen since.
            late = self._agree()
            for p in self._in_order():
                if p not in self._handles:
                    self._send(p)
            self._wait(late)
        self._synchronized = True

    def _in_order(self):
        return [p for p in parameters.of_groups(self.param_groups)
                if p in self._hooked and p.requires_grad]

    def _agree(self):
        """The parameters of which some rank has a late part: all of them reduce it.

        Learns also whose gradients are sparse somewhere, for a rank that has none of them.
        """
        members = self._in_order()
        if not members:
            return []
        facts = torch.tensor(
            [[p in self._late for p in members],
             [p.grad.sparse_dim() if p.grad is not None and p.grad.is_sparse
              else self._sparse_dims.get(p, 0) for p in members]], dtype=torch.uint8)
        allreduce_(facts, name="agree." + self._wire_name(members[0]), op=Max,
                   process_set=self.process_set)
        late, sparse_dims = facts.tolist()
        self._sparse_dims.update((p, dim) for p, dim in zip(members, sparse_dims) if dim)
        return [p for p, is_late in zip(members, late) if is_late]

    def _wait(self, late):
        self._warn_of_changes()
        failure = None
        for sent in dict.fromkeys(self._handles.values()):
            try:
                with torch.no_grad():
                    sent.finish()
            except Exception as error:  # The others are waited for all the same.
                failure = failure or error
        if failure is None:
            self._complete(late)
        self._learn()
        self._reset()
        if failure is not None:
            raise failure

    def _warn_of_changes(self):
        for p, gradient, version in itertools.chain.from_iterable(
                sent.gradients for sent in dict.fromkeys(self._handles.values())):
            if p in self._late or "change" in self._warned:
                continue
            replaced = p.grad is None or p.grad.data_ptr() != gradient.data_ptr()
            if replaced or gradient._version != version:
                self._warned.add("change")
                warnings.warn(
                    f"The gradient of '{self._parameter_names[p]}' was changed while it was "
                    "reduced, so that its value is not defined: call optimizer.synchronize() "
                    "before changing gradients (clipping them, for instance), and "
                    "optimizer.step() within `with optimizer.skip_synchronize():`.",
                    stacklevel=5)

    def _complete(self, late):
        """Adds the late parts of all ranks to what was reduced before they came."""
        prescale, postscale = self._factors()
        for p in late:
            part = None
            if p in self._late:
                part = p.grad
                p.grad = self._late[p]
            if part is None:
                part = torch.zeros_like(p)
            with torch.no_grad():
                part = part.to_dense().contiguous() if part.is_sparse else part.contiguous()
                allreduce_(part, name="late." + self._wire_name(p), op=self.op,
                           prescale_factor=prescale, postscale_factor=postscale,
                           process_set=self.process_set)
                p.grad = p.grad + part if p.grad.is_sparse else p.grad.add_(part)

    def _learn(self):
        """How many parts each gradient has in a backward pass, for the next step."""
        for p, count in self._contributions.items():
            if p in self._late or p in self._expected:
                self._expected[p] = -(-count // self.backward_passes_per_step)

    def _reset(self):
        self._handles.clear()
        self._contributions.clear()
        self._late.clear()
        self._ready_in_group.clear()

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Within it step() takes the gradients as they are: after synchronize()."""
        previous, self._should_synchronize = self._should_synchronize, False
        try:
            yield
        finally:
            self._should_synchronize = previous

    def step(self, closure=None, *, max_norm=None, grad_scaler=None):
        """Waits for the gradients, then takes the wrapped optimizer's step.

        The gradients that `closure` computes are reduced each time it is called, and so is the
        loss that it returns, since all ranks have to decide alike.

        max_norm: scales the reduced gradients down to that norm, over all parameters.
        grad_scaler: a torch.amp.GradScaler, which unscales the reduced gradients, takes the step
            or leaves it out, and is updated.
        These two take no closure. What would be synchronize(), unscale_(), clip_grad_norm_(),
        skip_synchronize(), scaler.step() and scaler.update() is then one call.
        """
        if max_norm is not None or grad_scaler is not None:
            if closure is not None:
                raise ValueError("step() takes a closure, or max_norm and grad_scaler")
            return self._scaled_step(max_norm, grad_scaler)
        if closure is not None:
            return self._wrapped.step(self, self._reducing(closure))
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() context after "
                    "optimizer.synchronize(). This can cause training slowdown. You may want to "
                    "consider using optimizer.skip_synchronize() context if you use "
                    "optimizer.synchronize() in your code.", stacklevel=2)
            self.synchronize()
        self._synchronized = False
        return self._wrapped.step(self)

    def _scaled_step(self, max_norm, grad_scaler):
        if self._should_synchronize:
            self.synchronize()
        if grad_scaler is not None:
            grad_scaler.unscale_(self)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters.of_groups(self.param_groups), max_norm)
        with self.skip_synchronize():
            result = self.step() if grad_scaler is None else grad_scaler.step(self)
        if grad_scaler is not None:
            grad_scaler.update()
        return result

    def _reducing(self, closure):
        def reduced():
            loss = closure()
            if self._should_synchronize:
                self.synchronize()
                self._synchronized = False
            if loss is None or not self._is_distributed():
                return loss
            mean = torch.as_tensor(loss).detach().clone()
            return allreduce_(mean, name="loss." + self._suffix, process_set=self.process_set)

        return reduced

    def zero_grad(self, *args, **kwargs):
        """As the wrapped optimizer's; not while gradients are on their way."""
        if self._handles:
            parameters.refuse_zero_grad()
        self._reset()
        self._synchronized = False
        return self._wrapped.zero_grad(self, *args, **kwargs)

    def set_backward_passes_per_step(self, passes):
        """From now on so many backward passes are summed up before their sum is reduced."""
        self.backward_passes_per_step = passes
        self._contributions.clear()

    def load_state_dict(self, *args, **kwargs):
        """As the wrapped optimizer's. Gradients that are on their way are waited for first."""
        for sent in dict.fromkeys(self._handles.values()):
            with torch.no_grad():
                sent.finish()
        self._reset()
        self._synchronized = False
        return self._wrapped.load_state_dict(self, *args, **kwargs)


def _nothing(p, sparse_dim):
    """A gradient of zeros: sparse, without entries, where others' are."""
    if not sparse_dim:
        return torch.zeros_like(p, memory_format=torch.contiguous_format)
    return torch.sparse_coo_tensor(
        torch.empty((sparse_dim, 0), dtype=torch.int64), p.new_empty((0, *p.shape[sparse_dim:])),
        p.shape)


def _suffix_of_next(process_set):
    """What tells the gradients of this optimizer from those of earlier ones, on every rank alike.

    A generator's and a discriminator's are on their way at the same time, and often have the same
    names.
    """
    number = process_set.optimizers
    process_set.optimizers = number + 1
    return f"@{number}" if number else ""


def _take_over(optimizer, methods):
    """An optimizer of a class that derives from `optimizer`'s, with its groups, state and hooks."""
    attributes = {name: value for name, value in methods.__dict__.items()
                  if name not in ("__dict__", "__weakref__")}
    attributes["_wrapped"] = optimizer.__class__
    wrapper = type(optimizer.__class__.__name__, (optimizer.__class__,), attributes)
    taken = wrapper.__new__(wrapper)
    # A scheduler puts a step of its own, which is the old optimizer's, among the attributes.
    taken.__dict__.update((name, value) for name, value in vars(optimizer).items()
                          if name not in ("step", "_wrapped_by_lr_sched"))
    return taken


def DistributedOptimizer(optimizer, named_parameters=None, compression=Compression.none,
                         backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0,
                         num_groups=0, groups=None, sparse_as_dense=False,
                         process_set=global_process_set):
    """An optimizer of `optimizer`'s class and state, whose gradients are those of all ranks.

    optimizer: it is not used any more; its parameter groups and state are taken over.
    named_parameters: (name, parameter) for each parameter, equal on all ranks; without them they
        are numbered.
    compression: what gradients are sent as.
    backward_passes_per_step: so many backward passes are summed up before their sum is reduced.
    op: Average, Sum, or Adasum.
    gradient_predivide_factor: with Average, gradients are divided by it before the sum and
        multiplied by it after.
    groups: a number of groups, or lists of parameters, that are reduced together. Sparse gradients
        are reduced by themselves.
    sparse_as_dense: sparse gradients are reduced as dense ones.
    process_set: the ranks whose gradients are reduced.

    Every rank of the process set makes the same optimizers in the same order. Raises ValueError for
    arguments that make no sense.
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if backward_passes_per_step <= 0:
        raise ValueError("backward_passes_per_step must be > 0")
    if op not in (Average, Sum, Adasum):
        raise ValueError(f"op is {op}: gradients are reduced by Average, Sum or Adasum")
    if num_groups != 0:
        warnings.warn("Parameter `num_groups` has been replaced by `groups` and will be removed "
                      "in v1.0", DeprecationWarning, stacklevel=2)
        if groups is None:
            groups = num_groups
    ranks = size()
    core_of(process_set)
    if op == Adasum and ranks > 1:
        distributed = _take_over(optimizer, DistributedAdasumOptimizer)
        distributed._begin(named_parameters, compression, backward_passes_per_step, process_set)
    else:
        distributed = _take_over(optimizer, _DistributedOptimizer)
        distributed._begin(named_parameters, compression, backward_passes_per_step, op,
                           gradient_predivide_factor, groups, sparse_as_dense, process_set)
    return distributed
