# SPDX-License-Identifier: Apache-2.0
"""The reduction of gradients between backward and the step. Hooks send complete gradients.

In each step a parameter's gradient is sent once, after its last contribution. If a gradient has
more parts than in the step before, late parts are reduced separately and added, with one warning.
So the result is right in any case.
"""
import contextlib
import warnings

import torch

from horovodpp.common.handles import AT_ONCE, reset_with_job
from horovodpp.torch import parameters
from horovodpp.torch.contributions import Contributions, Passes
from horovodpp.torch.held import Held
from horovodpp.torch.homes import Homes
from horovodpp.torch.mpi_ops import size
from horovodpp.torch.sending import Sent


class Reduction:
    """Reduces the gradients of `optimizer`, which defines the number of passes in a step.

    The optimizer's groups may gain parameters later.

    names: parameter -> its name, equal on all ranks.
    sender: the Sender of the gradients.
    groups, gradients_in_arena: as for DistributedOptimizer().
    bucket_bytes: the most bytes of gradients that are held back.
    find_unused_parameters: as for DistributedOptimizer().
    """

    def __init__(self, optimizer, names, sender, groups=None, gradients_in_arena=True,
                 bucket_bytes=0, find_unused_parameters=False):
        self._optimizer = optimizer
        self.names = names
        self.only_accumulates = False  # Backward adds to gradients on this rank only.
        self.is_synchronized = False  # Since the last contribution.
        self._sender = sender
        self._process_set = sender.process_set
        self.suffix = self._process_set.suffix_of_next_optimizer()
        self._handles = {}  # Parameter -> Sent, in the order of sending.
        self._held = Held(bucket_bytes)
        self._contributions = Contributions()
        self._passes = Passes()
        self._homes = Homes(gradients_in_arena and sender.sends_where_they_lie())
        self._sparse_dims = {}  # Parameter with sparse gradients -> their sparse_dim().
        self._hooked = set()
        self._has_told_of_changes = False
        self._finds_unused = find_unused_parameters
        self._unused = set()  # By all ranks, in this step.
        self._group_of = {}
        for group in parameters.groups_of(groups, self.names, self._process_set):
            self._group_of.update((p, group) for p in group)
        self._ready_in_group = {}
        if self.is_distributed():
            self._register_hooks()
        reset_with_job(self)

    def is_distributed(self):
        """Whether this rank reduces with other ranks."""
        return self._process_set.included() and size() > 1

    def wire_name(self, p):
        """The name of p's gradient among ranks."""
        return self.names[p] + self.suffix

    # --- Hooks ---

    def _register_hooks(self):
        groups = self._optimizer.param_groups
        if all(p in self._hooked or not p.requires_grad for p in parameters.of_groups(groups)):
            return
        for name, p in parameters.numbered_by_group(groups):
            if not p.requires_grad or p in self._hooked:
                continue
            self.names.setdefault(p, name)
            self._hooked.add(p)
            parameters.hook(p, self._before_gradient, self._on_gradient)

    def _before_gradient(self, p):
        """Called before a contribution to p.grad. Protects a gradient in flight from it."""
        sent = self._handles.get(p) or self._held.get(p)
        if sent is None:
            self._homes.expect(p)
        elif p not in self._contributions.late:
            if not sent.is_nested and not self._passes.is_nested():
                parameters.refuse_another_pass()
            if p not in self._held:
                self._contributions.put_aside(p, self.names[p])

    def _on_gradient(self, p):
        self.is_synchronized = False
        if self.only_accumulates:
            self._homes.take_in(p)
            return
        is_complete = self._contributions.add(p, self._optimizer.backward_passes_per_step)
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
        members = [member for member in group
                   if member.requires_grad and member not in self._unused]
        ready = self._ready_in_group.setdefault(id(group), set())
        ready.add(p)
        if len(ready) == len(members):
            self._start(members, self._passes.is_nested())

    def _hold_or_start(self, p):
        gradient = self._gradient(p)
        is_nested = self._passes.is_nested()
        if not self._held.takes(gradient):
            self._start([p], is_nested)
        elif self._held.add(p, gradient, is_nested):
            self._start_held()

    def _start_held(self):
        for p, sent in self._held.release():
            self._tell_if_changed(p, sent)
            self._start([p], sent.is_nested)

    def _start(self, members, is_nested):
        """Sends the gradients: the dense ones together."""
        gradients = [(p, self._gradient(p)) for p in members]
        for p, gradient in gradients:
            if gradient.is_sparse:
                self._handles[p] = Sent([], self._start_sparse(p, gradient), is_nested)
        self._start_dense([pair for pair in gradients if not pair[1].is_sparse], is_nested)

    def _start_dense(self, gradients, is_nested):
        if not gradients:
            return
        finish = self._sender.start([self.wire_name(p) for p, _ in gradients],
                                    [gradient for _, gradient in gradients])
        sent = Sent(gradients, finish, is_nested)
        for p, _ in gradients:
            self._handles[p] = sent

    def _gradient(self, p):
        gradient = p.grad
        if gradient is None:
            # Other ranks used this parameter; this rank adds zeros.
            gradient = p.grad = _nothing(p, self._sparse_dims.get(p))
        elif gradient.is_sparse:
            self._sparse_dims[p] = gradient.sparse_dim()
        elif not gradient.is_contiguous():
            gradient = p.grad = gradient.contiguous()
        return gradient

    def _start_sparse(self, p, gradient):
        name = self.wire_name(p)
        if not self._optimizer.sparse_as_dense:
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

    # --- The end of a step ---

    def complete(self):
        """Waits until all gradients are reduced."""
        # The last survivor of a job still has hooks, which send.
        if self.is_distributed() or self.is_under_way():
            self._register_hooks()  # Of parameters that were added or unfrozen since.
            self._tell_of_changes()
            late, all_wait = self._agree()
            if all_wait:
                self._send_together()
            else:
                self._send_rest()
            self._wait(late)
        self.is_synchronized = True

    def abandon(self):
        """Waits for the gradients in flight, and drops their values and errors."""
        with contextlib.suppress(Exception):
            self._start_held()  # Other ranks may have sent them.
        for sent in dict.fromkeys(self._handles.values()):
            with contextlib.suppress(Exception), torch.no_grad():
                sent.finish()
        self.reset()

    def on_their_way(self):
        """Parameter -> Sent, for gradients in flight or waiting to be sent."""
        return {**self._handles, **self._held.waiting()}

    def is_under_way(self):
        """Whether gradients are in flight, or wait to be sent."""
        return bool(self._handles or self._held)

    def hooked_parameters(self):
        """The parameters whose gradients are reduced."""
        return set(self._hooked)

    def start_anew(self):
        """Restarts the counts, for another number of backward passes."""
        self._contributions.start_anew()

    def _in_order(self):
        return [p for p in parameters.of_groups(self._optimizer.param_groups)
                if p in self._hooked and p.requires_grad]

    def _rest(self):
        """The parameters still to be sent; callers may send some during the iteration."""
        return (p for p in self._in_order() if p not in self._handles and p not in self._unused)

    def _send_rest(self):
        for p in self._rest():
            if p not in self._held:
                self._send(p)
        self._start_held()

    def _send_together(self):
        """Sends all gradients in one operation, for which this thread waits."""
        self._held.clear()
        together, others = [], []
        for p in self._rest():
            gradient = self._gradient(p)
            if self._held.takes(gradient):
                together.append((p, gradient))
            else:
                others.append(p)
        with AT_ONCE:
            self._start_dense(together, is_nested=False)
            for p in others:
                self._start([p], is_nested=False)

    def _agree(self):
        """Returns the parameters with a late part on a rank, and whether all ranks hold everything.

        All ranks reduce these late parts. Also learns which gradients are sparse on any rank, for
        ranks that have no gradient, and, if asked for, which parameters have a gradient on no rank.
        """
        members = self._in_order()
        if not members:
            return [], False
        gradients = [p.grad for p in members]
        late = [p in self._contributions.late for p in members]
        sparse_dims = [gradient.sparse_dim() if gradient is not None and gradient.is_sparse
                       else self._sparse_dims.get(p, 0) for p, gradient in zip(members, gradients)]
        used = [gradient is not None for gradient in gradients] if self._finds_unused else []
        all_wait = self._held.waits() and not self._handles and not self._group_of and \
            self._held.has_only(members)
        most = iter(self._sender.most("agree." + self.wire_name(members[0]),
                                      [*late, *sparse_dims, *used, not all_wait]))
        late = [p for p in members if next(most)]
        self._sparse_dims.update((p, dim) for p, dim in zip(members, most) if dim)
        if self._finds_unused:
            self._unused = {p for p in members if not next(most)}
        return late, not next(most)

    def _wait(self, late):
        failure = None
        for sent in dict.fromkeys(self._handles.values()):
            try:
                with torch.no_grad():
                    sent.finish()
            except Exception as error:  # The others are waited for in any case.
                failure = failure or error
        if failure is None:
            self._complete(late)
        self._contributions.learn(self._optimizer.backward_passes_per_step)
        self.reset()
        if failure is not None:
            raise failure

    def _tell_of_changes(self):
        for p, sent in self.on_their_way().items():
            self._tell_if_changed(p, sent)

    def _tell_if_changed(self, p, sent):
        if self._has_told_of_changes or p in self._contributions.late or not sent.has_changed(p):
            return
        self._has_told_of_changes = True
        warnings.warn(
            f"The gradient of '{self.names[p]}' was changed while it was "
            "reduced, so that its value is not defined: call optimizer.synchronize() "
            "before changing gradients (clipping them, for instance), and "
            "optimizer.step() within `with optimizer.skip_synchronize():`.", stacklevel=6)

    def _complete(self, late):
        """Adds the late parts of all ranks to the gradients that were reduced before."""
        for p in late:
            part = None
            if p in self._contributions.late:
                part = p.grad
                p.grad = self._contributions.late[p]
            if part is None:
                part = torch.zeros_like(p)
            with torch.no_grad():
                part = part.to_dense().contiguous() if part.is_sparse else part.contiguous()
                self._sender.reduce("late." + self.wire_name(p), part)
                p.grad = p.grad + part if p.grad.is_sparse else p.grad.add_(part)

    def reset(self):
        """Prepares the next step."""
        self.is_synchronized = False
        self._handles.clear()
        self._held.clear()
        self._contributions.reset()
        self._ready_in_group.clear()
        self._unused.clear()


def _nothing(p, sparse_dim):
    """A gradient of zeros; sparse and without entries if the others' are sparse."""
    if not sparse_dim:
        return torch.zeros_like(p, memory_format=torch.contiguous_format)
    return torch.sparse_coo_tensor(
        torch.empty((sparse_dim, 0), dtype=torch.int64), p.new_empty((0, *p.shape[sparse_dim:])),
        p.shape)
