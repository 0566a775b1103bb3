# SPDX-License-Identifier: Apache-2.0
"""An optimizer of torch whose gradients are reduced over the ranks while backward runs.

In one step a parameter's gradient is handed over once, after its last contribution. What comes
after all, since a gradient had more parts than in the step before, is reduced by itself and added,
with one warning, so that the result is right in any case.
"""
import contextlib
import warnings

import torch

from horovodpp.common.process_sets import core_of, global_process_set
from horovodpp.torch import extended_step, parameters
from horovodpp.torch.adasum_optimizer import DistributedAdasumOptimizer
from horovodpp.torch.compression import Compression
from horovodpp.torch.contributions import Contributions, Passes
from horovodpp.torch.held import Held, bucket_bytes_of
from horovodpp.torch.homes import Homes
from horovodpp.torch.mpi_ops import Adasum, Average, Sum, size
from horovodpp.torch.sending import Sender, Sent


class _DistributedOptimizer(torch.optim.Optimizer):
    # Methods become those of a class that derives from the wrapped optimizer's, `_wrapped`: see
    # DistributedOptimizer().

    def _begin(self, named_parameters, sender, backward_passes_per_step=1, groups=None,
               sparse_as_dense=False, gradients_in_arena=True, bucket_bytes=0):
        self._parameter_names = parameters.names_of(
            self.param_groups, parameters.numbered_by_group(self.param_groups)
            if named_parameters is None else named_parameters)
        self._sender = sender
        self.process_set = sender.process_set
        self._suffix = self.process_set.suffix_of_next_optimizer()
        self.backward_passes_per_step = backward_passes_per_step
        self.op = sender.op
        self.gradient_predivide_factor = sender.gradient_predivide_factor
        self.sparse_as_dense = sparse_as_dense
        self.steps_taken = 0

        self._handles = {}  # Parameter -> Sent, in the order of sending.
        self._held = Held(bucket_bytes)
        self._contributions = Contributions()
        self._passes = Passes()
        self._homes = Homes(gradients_in_arena and sender.sends_where_they_lie())
        self._sparse_dims = {}  # Parameter with sparse gradients -> their sparse_dim().
        self._synchronized = False
        self._should_synchronize = True
        self._only_accumulates = False
        self._hooked = set()
        self._has_told_of_changes = False
        self._group_of = {}
        for group in parameters.groups_of(groups, self._parameter_names, self.process_set):
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
        sent = self._handles.get(p) or self._held.get(p)
        if sent is None:
            self._homes.expect(p)
        elif p not in self._contributions.late:
            if not sent.is_nested and not self._passes.is_nested():
                parameters.refuse_another_pass()
            if p not in self._held:
                self._contributions.put_aside(p, self._parameter_names[p])

    def _on_gradient(self, p):
        self._synchronized = False
        if self._only_accumulates:
            self._homes.take_in(p)
            return
        is_complete = self._contributions.add(p, self.backward_passes_per_step)
        if p in self._handles:
            return
        self._homes.take_in(p)
        if p in self._held:
            self._held.renew(p)
        elif is_complete:
            self._send(p)

    # --- Sending ---

    def _send(self, p):
        group = self._group_of.get(p)
        if group is None:
            self._hold_or_start(p)
            return
        members = [member for member in group if member.requires_grad]
        ready = self._ready_in_group.setdefault(id(group), set())
        ready.add(p)
        if len(ready) == len(members):
            self._start(members)

    def _hold_or_start(self, p):
        gradient = self._gradient(p)
        if not self._held.takes(gradient):
            self._start([p])
        elif self._held.add(p, gradient, self._passes.is_nested()):
            self._start_held()

    def _start_held(self):
        for p, sent in self._held.release():
            self._tell_if_changed(p, sent)
            self._start([p], sent.is_nested)

    def _start(self, members, is_nested=None):
        """Sends the gradients: the dense ones together."""
        if is_nested is None:
            is_nested = self._passes.is_nested()
        gradients = [(p, self._gradient(p)) for p in members]
        dense = [(p, gradient) for p, gradient in gradients if not gradient.is_sparse]
        for p, gradient in gradients:
            if gradient.is_sparse:
                self._handles[p] = Sent([], self._start_sparse(p, gradient), is_nested)
        if not dense:
            return
        finish = self._sender.start([self._wire_name(p) for p, _ in dense],
                                    [gradient for _, gradient in dense])
        sent = Sent(dense, finish, is_nested)
        self._handles.update((p, sent) for p, _ in dense)

    def _gradient(self, p):
        if p.grad is None:
            # Another part of the model was used on this rank: what it adds is nothing.
            p.grad = _nothing(p, self._sparse_dims.get(p))
        elif p.grad.is_sparse:
            self._sparse_dims[p] = p.grad.sparse_dim()
        elif not p.grad.is_contiguous():
            p.grad = p.grad.contiguous()
        return p.grad

    def _start_sparse(self, p, gradient):
        name = self._wire_name(p)
        if not self.sparse_as_dense:
            result = self._sender.start_sparse(name, gradient)
        else:
            dense = gradient.to_dense().contiguous()
            wait = self._sender.start([name], [dense])

            def result():
                wait()
                return dense.to_sparse(self._sparse_dims[p])

        def finish():
            p.grad = result()

        return finish

    # --- The step ---

    def synchronize(self):
        """Waits until every gradient is that of all ranks. Gradients may be changed then."""
        if self._is_distributed():
            self._register_hooks()  # Of parameters that were added or unfrozen since.
            late = self._agree()
            for p in self._in_order():
                if p not in self._handles and p not in self._held:
                    self._send(p)
            self._start_held()
            self._wait(late)
        self._synchronized = True

    def finish_gradients(self):
        """synchronize(), unless that was done since the last backward pass, or is skipped."""
        if self._should_synchronize and not self._synchronized:
            self.synchronize()

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
        late, sparse_dims = self._sender.most("agree." + self._wire_name(members[0]), [
            [p in self._contributions.late for p in members],
            [p.grad.sparse_dim() if p.grad is not None and p.grad.is_sparse
             else self._sparse_dims.get(p, 0) for p in members]])
        self._sparse_dims.update((p, dim) for p, dim in zip(members, sparse_dims) if dim)
        return [p for p, is_late in zip(members, late) if is_late]

    def _wait(self, late):
        for p, sent in self._handles.items():
            self._tell_if_changed(p, sent)
        failure = None
        for sent in dict.fromkeys(self._handles.values()):
            try:
                with torch.no_grad():
                    sent.finish()
            except Exception as error:  # The others are waited for all the same.
                failure = failure or error
        if failure is None:
            self._complete(late)
        self._contributions.learn(self.backward_passes_per_step)
        self._reset()
        if failure is not None:
            raise failure

    def _tell_if_changed(self, p, sent):
        if self._has_told_of_changes or p in self._contributions.late or not sent.has_changed(p):
            return
        self._has_told_of_changes = True
        warnings.warn(
            f"The gradient of '{self._parameter_names[p]}' was changed while it was "
            "reduced, so that its value is not defined: call optimizer.synchronize() "
            "before changing gradients (clipping them, for instance), and "
            "optimizer.step() within `with optimizer.skip_synchronize():`.", stacklevel=5)

    def _complete(self, late):
        """Adds the late parts of all ranks to what was reduced before they came."""
        for p in late:
            part = None
            if p in self._contributions.late:
                part = p.grad
                p.grad = self._contributions.late[p]
            if part is None:
                part = torch.zeros_like(p)
            with torch.no_grad():
                part = part.to_dense().contiguous() if part.is_sparse else part.contiguous()
                self._sender.reduce("late." + self._wire_name(p), part)
                p.grad = p.grad + part if p.grad.is_sparse else p.grad.add_(part)

    def _reset(self):
        self._handles.clear()
        self._held.clear()
        self._contributions.reset()
        self._ready_in_group.clear()

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Within it step() takes the gradients as they are: after synchronize()."""
        previous, self._should_synchronize = self._should_synchronize, False
        try:
            yield
        finally:
            self._should_synchronize = previous

    @contextlib.contextmanager
    def no_sync(self):
        """Within it, what backward adds to gradients stays on this rank, as with torch's DDP.

        It is part of what the next backward pass outside completes, or of what step() reduces: for
        passes whose number is not known before, as backward_passes_per_step is.
        """
        previous, self._only_accumulates = self._only_accumulates, True
        try:
            yield
        finally:
            self._only_accumulates = previous

    def step(self, closure=None, *, weight=None, grad_scaler=None, max_norm=None,
             update_scaler=True):
        """Waits for the gradients, then takes the wrapped optimizer's step.

        The gradients that `closure` computes are reduced each time it is called, and so is the
        loss that it returns, since all ranks have to decide alike.

        With one of these arguments or more, the closure is called once, and what happens comes in
        the order of this list, in place of synchronize(), unscale_(), clip_grad_norm_(),
        skip_synchronize(), scaler.step() and scaler.update(). Returns a StepResult then.

        weight: how many samples, tokens, ... the loss on this rank is the sum over: the step goes
            along the mean of all samples of all ranks. It may be 0. Given on all ranks or none.
        grad_scaler: a torch.amp.GradScaler, which unscales the reduced gradients, takes the step
            or leaves it out.
        max_norm: scales the reduced gradients down to that norm, over all parameters. Without a
            grad_scaler, RuntimeError if they are not finite.
        update_scaler: whether the scaler is updated; by default it is.
        """
        if weight is not None or grad_scaler is not None or max_norm is not None:
            return extended_step.take(self, closure, weight, grad_scaler, max_norm, update_scaler)
        if closure is not None:
            self.steps_taken += 1
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
        self.steps_taken += 1
        return self._wrapped.step(self)

    def _reducing(self, closure):
        def reduced():
            loss = closure()
            if self._should_synchronize:
                self.synchronize()
                self._synchronized = False
            if loss is None or not self._is_distributed():
                return loss
            return self._sender.mean("loss." + self._suffix,
                                     torch.as_tensor(loss).detach().clone())

        return reduced

    def sum_over_ranks(self, name, number):
        """The sum of the numbers that the ranks give, all under the same name."""
        if not self._is_distributed():
            return number
        return self._sender.sum(f"{name}.{self._suffix}", number)

    def zero_grad(self, *args, **kwargs):
        """As the wrapped optimizer's; not while gradients are on their way."""
        if self._handles or self._held:
            parameters.refuse_zero_grad()
        self._reset()
        self._synchronized = False
        return self._wrapped.zero_grad(self, *args, **kwargs)

    def set_backward_passes_per_step(self, passes):
        """From now on so many backward passes are summed up before their sum is reduced."""
        self.backward_passes_per_step = passes
        self._contributions.start_anew()

    def state_dict(self):
        """The wrapped optimizer's and, as "compression", what compression remembers.

        That is each rank's own, so that each rank saves its own.
        """
        state = self._wrapped.state_dict(self)
        if self._sender.remembers():
            names = {self._wire_name(p): name for p, name in self._parameter_names.items()}
            state["compression"] = {
                f"{names[wire]}.{what}": tensor for (wire, what), tensor in
                ((_split(key), tensor) for key, tensor in self._sender.compression.state().items())}
        return state

    def load_state_dict(self, state_dict):
        """As the wrapped optimizer's. Gradients that are on their way are waited for first."""
        self._start_held()  # Other ranks may have sent them.
        for sent in dict.fromkeys(self._handles.values()):
            with torch.no_grad():
                sent.finish()
        self._reset()
        self._synchronized = False
        if self._sender.remembers():
            remembered = ((_split(key), tensor)
                          for key, tensor in state_dict.get("compression", {}).items())
            self._sender.compression.load_state({
                f"{name}{self._suffix}.{what}": tensor for (name, what), tensor in remembered})
        return self._wrapped.load_state_dict(self, state_dict)


def _split(key):
    """(gradient, what is remembered of it)"""
    name, _, what = key.rpartition(".")
    return name, what


def _nothing(p, sparse_dim):
    """A gradient of zeros: sparse, without entries, where others' are."""
    if not sparse_dim:
        return torch.zeros_like(p, memory_format=torch.contiguous_format)
    return torch.sparse_coo_tensor(
        torch.empty((sparse_dim, 0), dtype=torch.int64), p.new_empty((0, *p.shape[sparse_dim:])),
        p.shape)


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
    # A scaler then leaves a step out itself, and does not pass itself to step().
    taken._step_supports_amp_scaling = False
    return taken


def DistributedOptimizer(optimizer, named_parameters=None, compression=Compression.none,
                         backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0,
                         num_groups=0, groups=None, sparse_as_dense=False,
                         process_set=global_process_set, gradients_in_arena=True,
                         bucket_bytes=None):
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
    gradients_in_arena: gradients that torch allocates are moved to memory that the ranks of a node
        share, where they are reduced without a copy. Not with compression.
    bucket_bytes: gradients of CPUs that are complete, and in no group, are held back until they
        have so many bytes, or for the step, and then sent together; 0: none is. By default 16 MiB
        where the ranks are on one node and compute on all of its cores, so that reducing has no
        core of its own, and elsewhere 0. Not with compression.

    Every rank of the process set makes the same optimizers in the same order. Raises ValueError for
    arguments that make no sense.
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if bucket_bytes is not None and bucket_bytes < 0:
        raise ValueError("bucket_bytes must be >= 0")
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
        sender = Sender(compression, op, gradient_predivide_factor, process_set)
        distributed._begin(named_parameters, sender, backward_passes_per_step, groups,
                           sparse_as_dense, gradients_in_arena,
                           bucket_bytes_of(bucket_bytes, sender))
    return distributed
