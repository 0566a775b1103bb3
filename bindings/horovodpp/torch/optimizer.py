# SPDX-License-Identifier: Apache-2.0
"""An optimizer of torch whose gradients are reduced over the ranks while backward runs.

In one step a parameter's gradient is handed over once, after its last contribution. Where torch's
engine gives no sign of which one is the last (a reentrant checkpoint runs backward within backward,
and a weight that is tied or used in several regions then gets its gradient in parts), the optimizer
learns from the step before how many there are; and what comes after all is reduced by itself and
added, with one warning, so that the result is right in any case.
"""
import contextlib
import sys
import warnings

import torch

from horovodpp.common import basics
from horovodpp.common.process_sets import core_of, global_process_set
from horovodpp.torch.compression import Compression
from horovodpp.torch.functions import broadcast_object
from horovodpp.torch.mpi_ops import (
    Adasum, Average, Max, allreduce_async_, allreduce_, grouped_allreduce_async_, rank, size,
    sparse_allreduce_async, synchronize)

_HAS_POST_ACCUMULATE_HOOKS = hasattr(torch.Tensor, "register_post_accumulate_grad_hook")


def _split(items, parts):
    """`items` in so many lists of nearly the same length."""
    quotient, rest = divmod(len(items), parts)
    lists = []
    start = 0
    for part in range(parts):
        end = start + quotient + (part < rest)
        lists.append(items[start:end])
        start = end
    return [part for part in lists if part]


def _is_within_another_backward():
    """Whether the engine runs for a node of another run, as in a reentrant checkpoint."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "apply" and \
                frame.f_globals.get("__name__") == "torch.autograd.function":
            return True
        frame = frame.f_back
    return False


class _Names:
    """What parameters are called, on every rank alike."""

    def __init__(self, param_groups, named_parameters, default):
        parameters = [p for group in param_groups for p in group["params"]]
        if named_parameters is None:
            named = default(param_groups)
        else:
            named = list(named_parameters)
        if any(not isinstance(item, tuple) or len(item) != 2 for item in named):
            raise ValueError("named_parameters should be a sequence of tuples (name, parameter), "
                             "usually produced by model.named_parameters().")
        names = [name for name, _ in named]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError("Parameter names in named_parameters must be unique. Found "
                             f"duplicates: {', '.join(map(str, twice))}")
        named_ids = {id(p) for _, p in named}
        unnamed = [p for p in parameters if id(p) not in named_ids]
        if unnamed:
            raise ValueError("named_parameters was specified, but one or more model parameters "
                             "were not named. Python object ids: "
                             f"{', '.join(str(id(p)) for p in unnamed)}")
        self.of = {}
        for name, parameter in sorted(named, key=lambda item: str(item[0])):
            self.of.setdefault(parameter, name)


def _numbered_by_group(param_groups):
    return [(f"allreduce.noname.{i}.{j}", p)
            for i, group in enumerate(param_groups) for j, p in enumerate(group["params"])]


def _groups_of(groups, parameters, names, process_set):
    """The parameters that are reduced together, in lists; each is in at most one."""
    if groups is None or groups == 0:
        return []
    if isinstance(groups, int):
        if groups < 0:
            raise ValueError("groups should be a non-negative integer or a list of list of "
                             "torch.Tensor.")
        # In the order of rank 0, as ranks may have their own.
        by_name = {names[p]: p for p in parameters}
        root = process_set.ranks[0] if process_set.ranks else 0
        order = broadcast_object([names[p] for p in parameters], root, process_set=process_set)
        return _split([by_name[name] for name in order], groups)
    if not isinstance(groups, list) or not all(isinstance(g, (list, tuple)) for g in groups):
        raise ValueError("groups should be a non-negative integer or a list of list of "
                         "torch.Tensor.")
    seen = set()
    for parameter in (p for group in groups for p in group):
        if not isinstance(parameter, torch.Tensor):
            raise ValueError("groups must consist of torch.Tensor.")
        if id(parameter) in seen:
            raise ValueError("A parameter can only appear once in groups.")
        seen.add(id(parameter))
    return [list(group) for group in groups]


class _Sent:
    """A gradient, or a group of them, on its way."""

    def __init__(self, handle, gradients, finish):
        self.handle = handle
        self.gradients = gradients  # Of the parameters: (parameter, tensor, its version).
        self.finish = finish


class _DistributedOptimizer(torch.optim.Optimizer):
    # Methods become those of a class that derives from the wrapped optimizer's: see
    # DistributedOptimizer().

    def __init__(self, params, named_parameters, compression, backward_passes_per_step=1,
                 op=Average, gradient_predivide_factor=1.0, groups=None, sparse_as_dense=False,
                 process_set=global_process_set):
        super(self.__class__, self).__init__(params)
        self._parameter_names = _Names(self.param_groups, named_parameters,
                                       _numbered_by_group).of
        self._compression = compression
        self.backward_passes_per_step = backward_passes_per_step
        self.op = op
        self.gradient_predivide_factor = gradient_predivide_factor
        self.sparse_as_dense = sparse_as_dense
        self.process_set = process_set

        self._handles = {}  # Parameter -> _Sent, in the order of sending.
        self._contributions = {}  # Parameter -> how many came since the last step.
        self._expected = {}  # Parameter -> how many come in a backward pass.
        self._late = {}  # Parameter -> the gradient that was sent before it came.
        self._needs_sparse = set()
        self._synchronized = False
        self._should_synchronize = True
        self._hooks = []
        self._hooked = set()
        self._warned = set()
        self._checks = None
        parameters = [p for p in self._parameter_names if p.requires_grad]
        self._group_of = {}
        for group in _groups_of(groups, parameters, self._parameter_names, process_set):
            group = [p for p in group if p in self._parameter_names]
            self._group_of.update((p, group) for p in group)
        self._ready_in_group = {}
        if self._is_distributed():
            self._register_hooks()

    def _is_distributed(self):
        return bool(self.process_set.included()) and size() > 1

    # --- Hooks ---

    def _register_hooks(self):
        for group in self.param_groups:
            for p in group["params"]:
                if not p.requires_grad or p in self._hooked:
                    continue
                self._hooked.add(p)
                if _HAS_POST_ACCUMULATE_HOOKS:
                    self._hooks.append(p.register_post_accumulate_grad_hook(self._on_gradient))
                else:
                    accumulator = p.expand_as(p).grad_fn.next_functions[0][0]
                    accumulator.register_hook(lambda *_, p=p: self._on_gradient(p))
                    self._hooks.append(accumulator)
                self._hooks.append(p.register_hook(
                    lambda gradient, p=p: self._before_gradient(p)))

    def _before_gradient(self, p):
        """A contribution is about to be added to p.grad: not to one that is on its way."""
        if p not in self._handles or p in self._late:
            return
        if not _is_within_another_backward():
            raise AssertionError(
                "Gradients were computed more than backward_passes_per_step times before call to "
                "step(). Increase backward_passes_per_step to accumulate gradients locally.")
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
        if p not in self._handles and count >= self.backward_passes_per_step * self._expected.get(p, 1):
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
        ready = self._ready_in_group.setdefault(id(group), {})
        ready[p] = True
        if len(ready) < sum(member.requires_grad for member in group):
            return
        sent = self._start_group([member for member in group if member.requires_grad])
        for member in ready:
            self._handles[member] = sent

    def _gradient(self, p):
        if p.grad is None:
            # Another part of the model was used on this rank: what it adds is nothing.
            p.grad = (torch.zeros_like(p) if p not in self._needs_sparse
                      else torch.zeros_like(p).to_sparse())
        return p.grad

    def _start(self, p):
        name = self._parameter_names[p]
        gradient = self._gradient(p)
        if gradient.is_sparse:
            self._needs_sparse.add(p)
            if not self.sparse_as_dense:
                wait = sparse_allreduce_async(gradient, name, self.op, self.process_set)
                return _Sent(None, [], lambda: self._set_sparse(p, wait()))
            return self._start_dense(p, name, gradient.to_dense(),
                                     lambda reduced: self._set_sparse(p, reduced.to_sparse()))
        return self._start_dense(p, name, gradient, None)

    @staticmethod
    def _set_sparse(p, gradient):
        p.grad = gradient

    def _start_dense(self, p, name, gradient, finish):
        if not gradient.is_contiguous():
            gradient = gradient.contiguous()
            if finish is None:
                p.grad = gradient
        compressed, context = self._compression.compress(gradient)
        prescale, postscale = self._factors()
        handle = allreduce_async_(compressed, name=name, op=self.op, prescale_factor=prescale,
                                  postscale_factor=postscale, process_set=self.process_set)

        def done():
            reduced = self._compression.decompress(synchronize(handle), context)
            if finish is not None:
                finish(reduced)
            elif reduced is not gradient:
                gradient.copy_(reduced)

        watched = [(p, gradient, gradient._version)] if finish is None else []
        return _Sent(handle, watched, done)

    def _start_group(self, members):
        gradients = []
        for member in members:
            gradient = self._gradient(member)
            if gradient.is_sparse:
                raise ValueError(
                    f"The gradient of '{self._parameter_names[member]}' is sparse, and is in a "
                    "group: leave it out of `groups`, or let it be dense in the model")
            if not gradient.is_contiguous():
                member.grad = gradient = gradient.contiguous()
            gradients.append(gradient)
        compressed, contexts = zip(*(self._compression.compress(g) for g in gradients))
        prescale, postscale = self._factors()
        handle = grouped_allreduce_async_(
            list(compressed), name=self._parameter_names[members[0]], op=self.op,
            prescale_factor=prescale, postscale_factor=postscale, process_set=self.process_set)

        def done():
            for reduced, context, gradient in zip(synchronize(handle), contexts, gradients):
                reduced = self._compression.decompress(reduced, context)
                if reduced is not gradient:
                    gradient.copy_(reduced)

        return _Sent(handle, [(m, g, g._version) for m, g in zip(members, gradients)], done)

    # --- The step ---

    def synchronize(self):
        """Waits until every gradient is that of all ranks. Gradients may be changed then."""
        if not self.process_set.included():
            self._synchronized = True
            return
        if self._is_distributed():
            self._register_hooks()  # Of parameters that were added or unfrozen since.
            late = self._agree()
            self._send_what_is_missing()
            self._wait(late)
        self._synchronized = True

    def _send_what_is_missing(self):
        for p in self._in_order():
            if p not in self._handles:
                self._send(p)

    def _in_order(self):
        return [p for group in self.param_groups for p in group["params"] if p in self._hooked
                and p.requires_grad]

    def _wait(self, late):
        self._warn_of_changes()
        failure = None
        for sent in dict.fromkeys(self._handles.values()):
            try:
                with torch.no_grad():
                    sent.finish()
            except KeyboardInterrupt:
                raise
            except Exception as error:  # The others are waited for all the same.
                failure = failure or error
        if failure is None:
            self._complete(late)
        self._learn()
        self._reset()
        if failure is not None:
            raise failure

    def _warn_of_changes(self):
        for sent in dict.fromkeys(self._handles.values()):
            for p, gradient, version in sent.gradients:
                if p in self._late or "change" in self._warned:
                    continue
                if gradient._version != version or \
                        (p.grad is not None and p.grad is not gradient
                         and p.grad.data_ptr() != gradient.data_ptr()):
                    self._warned.add("change")
                    warnings.warn(
                        f"The gradient of '{self._parameter_names[p]}' was changed while it was "
                        "reduced, so that its value is not defined: call optimizer.synchronize() "
                        "before changing gradients (clipping them, for instance), and "
                        "optimizer.step() within `with optimizer.skip_synchronize():`.",
                        stacklevel=4)

    def _agree(self):
        """The parameters of which some rank has a late part: all of them reduce it.

        Says also whose gradients are sparse somewhere, for ranks that have none of them.
        """
        parameters = self._in_order()
        if not parameters:
            return []
        flags = torch.tensor(
            [[p in self._late for p in parameters],
             [p in self._needs_sparse or (p.grad is not None and p.grad.is_sparse)
              for p in parameters]], dtype=torch.uint8)
        allreduce_(flags, name="agree." + self._parameter_names[parameters[0]], op=Max,
                   process_set=self.process_set)
        late, sparse = flags.tolist()
        self._needs_sparse.update(p for p, flag in zip(parameters, sparse) if flag)
        return [p for p, flag in zip(parameters, late) if flag]

    def _complete(self, late):
        """Adds the late parts of all ranks to what was reduced before they came."""
        prescale, postscale = self._factors()
        for p in late:
            part = p.grad if p in self._late else None
            if p in self._late:
                p.grad = self._late[p]
            if part is None:
                part = torch.zeros_like(p)
            if part.is_sparse:
                part = part.to_dense()
            with torch.no_grad():
                part = part.contiguous()
                allreduce_(part, name="late." + self._parameter_names[p], op=self.op,
                           prescale_factor=prescale, postscale_factor=postscale,
                           process_set=self.process_set)
                p.grad.add_(part)

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
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure=None):
        """Waits for the gradients, then takes the wrapped optimizer's step.

        The gradients that `closure` computes are reduced each time it is called.
        """
        if closure is not None:
            return super(self.__class__, self).step(self._reducing(closure))
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() context after "
                    "optimizer.synchronize(). This can cause training slowdown. You may want to "
                    "consider using optimizer.skip_synchronize() context if you use "
                    "optimizer.synchronize() in your code.", stacklevel=2)
            self.synchronize()
        self._synchronized = False
        return super(self.__class__, self).step()

    def _reducing(self, closure):
        def reduced():
            loss = closure()
            if self._should_synchronize:
                self.synchronize()
                self._synchronized = False
            return loss

        return reduced

    def zero_grad(self, *args, **kwargs):
        """As the wrapped optimizer's; not while gradients are on their way."""
        if self._handles:
            raise AssertionError(
                "optimizer.zero_grad() was called after loss.backward() but before "
                "optimizer.step() or optimizer.synchronize(). This is prohibited as it can cause "
                "a race condition.")
        return super(self.__class__, self).zero_grad(*args, **kwargs)

    def set_backward_passes_per_step(self, passes):
        """From now on so many backward passes are summed up before their sum is reduced."""
        self.backward_passes_per_step = passes
        self._contributions.clear()

    def load_state_dict(self, *args, **kwargs):
        self._abandon()
        super(self.__class__, self).load_state_dict(*args, **kwargs)

    def _abandon(self):
        """What is on its way is waited for, and forgotten."""
        for sent in dict.fromkeys(self._handles.values()):
            sent.finish()
        self._reset()
        self._synchronized = False


class _DistributedAdasumOptimizer(torch.optim.Optimizer):
    # As above. Each parameter takes its own step as soon as its gradient is there, and what is
    # reduced is the difference that the step made.

    def __init__(self, params, named_parameters, compression, backward_passes_per_step=1):
        super(self.__class__, self).__init__(params)
        self._parameter_names = _Names(
            self.param_groups, named_parameters,
            lambda groups: [(f"allreduce.noname.{i}", p) for i, p in enumerate(
                p for group in groups for p in group["params"])]).of
        self._compression = compression
        self.backward_passes_per_step = backward_passes_per_step
        self._passes = {}
        self._handles = {}
        self._starts = {}
        self._hooks = []
        parameters = [p for group in self.param_groups for p in group["params"]
                      if p.requires_grad]
        for p in parameters:
            self._starts[p] = torch.zeros_like(p, requires_grad=False)
            if _HAS_POST_ACCUMULATE_HOOKS:
                self._hooks.append(p.register_post_accumulate_grad_hook(self._on_gradient))
            else:
                accumulator = p.expand_as(p).grad_fn.next_functions[0][0]
                accumulator.register_hook(lambda *_, p=p: self._on_gradient(p))
                self._hooks.append(accumulator)

    def set_backward_passes_per_step(self, passes):
        """From now on so many backward passes are summed up before a step."""
        self.backward_passes_per_step = passes
        self._passes.clear()

    def _on_gradient(self, p):
        if p in self._handles:
            raise AssertionError(
                "Gradients were computed more than backward_passes_per_step times before call to "
                "step(). Increase backward_passes_per_step to accumulate gradients locally.")
        self._passes[p] = self._passes.get(p, 0) + 1
        if self._passes[p] >= self.backward_passes_per_step:
            self._handles[p] = self._start(p)

    def _start(self, p):
        start = self._starts[p]
        with torch.no_grad():
            start.copy_(p)
        self._step_of(p)
        with torch.no_grad():
            p.sub_(start)
            delta, context = self._compression.compress(p.detach())
        handle = allreduce_async_(delta.contiguous(), name=self._parameter_names[p], op=Adasum)
        return handle, context

    def _step_of(self, p):
        """The wrapped optimizer's step, of this parameter alone."""
        groups = [group["params"] for group in self.param_groups]
        try:
            for group in self.param_groups:
                group["params"] = [other for other in group["params"] if other is p]
            super(self.__class__, self).step()
        finally:
            for group, params in zip(self.param_groups, groups):
                group["params"] = params

    def synchronize(self):
        """Does nothing: what is reduced is not the gradients."""

    @contextlib.contextmanager
    def skip_synchronize(self):
        raise AssertionError("Skipping synchronization is not supported when using Adasum "
                             "optimizer.")
        yield

    def step(self, closure=None):
        """Waits for the ranks' differences, and adds their Adasum."""
        loss = closure() if closure is not None else None
        for p in self._starts:
            if p not in self._handles:
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                self._handles[p] = self._start(p)
        for p, (handle, context) in self._handles.items():
            delta = self._compression.decompress(synchronize(handle), context)
            with torch.no_grad():
                self._starts[p].add_(delta)
                p.copy_(self._starts[p])
        self._handles.clear()
        self._passes.clear()
        return loss

    def zero_grad(self, *args, **kwargs):
        """As the wrapped optimizer's; not while differences are on their way."""
        if self._handles:
            raise AssertionError(
                "optimizer.zero_grad() was called after loss.backward() but before "
                "optimizer.step() or optimizer.synchronize(). This is prohibited as it can cause "
                "a race condition.")
        return super(self.__class__, self).zero_grad(*args, **kwargs)


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
    groups: a number of groups, or lists of parameters, that are reduced together.
    sparse_as_dense: sparse gradients are reduced as dense ones.
    process_set: the ranks whose gradients are reduced.

    Raises ValueError for arguments that make no sense.
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if backward_passes_per_step <= 0:
        raise ValueError("backward_passes_per_step must be > 0")
    if num_groups != 0:
        warnings.warn("Parameter `num_groups` has been replaced by `groups` and will be removed "
                      "in v1.0", DeprecationWarning, stacklevel=2)
        if groups is None:
            groups = num_groups
    core_of(process_set)
    adasum = op == Adasum and size() > 1
    if adasum and process_set is not global_process_set:
        raise NotImplementedError("Adasum does not support non-global process sets yet.")
    methods = _DistributedAdasumOptimizer if adasum else _DistributedOptimizer
    attributes = {name: value for name, value in methods.__dict__.items()
                  if name not in ("__dict__", "__weakref__")}
    wrapper = type(optimizer.__class__.__name__, (optimizer.__class__,), attributes)
    state = optimizer.state
    if adasum:
        distributed = wrapper(optimizer.param_groups, named_parameters, compression,
                              backward_passes_per_step)
    else:
        distributed = wrapper(optimizer.param_groups, named_parameters, compression,
                              backward_passes_per_step, op, gradient_predivide_factor, groups,
                              sparse_as_dense, process_set)
    distributed.state.update(state)
    return distributed
