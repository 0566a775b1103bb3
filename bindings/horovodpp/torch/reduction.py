# SPDX-License-Identifier: Apache-2.0
"""The reduction of gradients between backward and the step. Hooks send complete gradients.

In each step a parameter's gradient is sent once, after its last contribution. If a gradient has
more parts than in the step before, late parts are reduced separately and added, with one warning.
So the result is right in any case.

The bookkeeping is the library's (_core.GradientLedger): a gradient is a number there, and here a
parameter with its tensors.
"""
import contextlib
import warnings

import torch

from horovodpp import _core
from horovodpp.common.checks import check_job_of_step
from horovodpp.common.handles import AT_ONCE, reset_with_job
from horovodpp.torch import parameters
from horovodpp.torch.shared_gradients import SharedGradients
from horovodpp.torch.mpi_ops import size
from horovodpp.torch.passes import Passes
from horovodpp.torch.sending import Held, Sent
from horovodpp.torch.untraced import untraced

# Looked up once: hooks run for each gradient.
_MORE, _COMPLETE, _HELD, _LATE = (
    _core.ContributionState.MORE, _core.ContributionState.COMPLETE,
    _core.ContributionState.HELD, _core.ContributionState.LATE)
_NOTHING, _ITSELF, _GROUP, _BUCKET = (
    _core.Due.NOTHING, _core.Due.ITSELF, _core.Due.GROUP, _core.Due.BUCKET)


class Reduction:
    """Reduces the gradients of `optimizer`, whose groups may gain parameters later.

    names: parameter -> its name, equal on all ranks.
    sender: the Sender of the gradients.
    passes: the number of backward passes in a step.
    groups, gradients_in_arena: as for DistributedOptimizer().
    bucket_bytes: the most bytes of gradients that are held back.
    find_unused_parameters: as for DistributedOptimizer().
    """

    def __init__(self, optimizer, names, sender, passes=1, groups=None, gradients_in_arena=True,
                 bucket_bytes=0, find_unused_parameters=False):
        self._optimizer = optimizer
        self.names = names
        self.only_accumulates = False  # Backward adds to gradients on this rank only.
        self.is_synchronized = False  # Since the last contribution.
        self._sender = sender
        self._process_set = sender.process_set
        self.suffix = self._process_set.suffix_of_next_optimizer()
        self.ledger = _core.GradientLedger(bucket_bytes)
        self._watched = parameters.Watched(optimizer, names, self.ledger, self._before_gradient,
                                           self._on_gradient)
        self._parameters = self._watched.parameters  # By number in the ledger.
        self._sent = {}  # Number -> Sent, or Held.
        self._late = {}  # Number -> gradient in flight when another part came.
        self._sparse_dims = {}  # Number -> sparse_dim(), of parameters with sparse gradients.
        self._may_wait = bool(bucket_bytes)
        self._passes = Passes()
        self._sends_in_place = sender.sends_in_place()
        self._shared_gradients = SharedGradients(gradients_in_arena and self._sends_in_place)
        self._finds_unused = find_unused_parameters
        self._has_warned_of_changes = self._has_warned_of_parts = False
        self.expect(passes)
        self.groups = parameters.groups_of(groups, self.names, self._process_set)
        if self.is_distributed():
            self._watch()
            numbers = self._watched.numbers
            for group in self.groups:
                self.ledger.add_group([numbers[id(p)] for p in group if id(p) in numbers])
        reset_with_job(self)

    def is_distributed(self):
        """Whether this rank reduces with other ranks. Raises ValueError after the job's end."""
        check_job_of_step()
        return self._process_set.included() and size() > 1

    def wire_name(self, p):
        """The name of p's gradient among ranks."""
        return self.names[p] + self.suffix

    def expect(self, passes):
        """Sets the number of backward passes in a step."""
        self.ledger.expect_of_all(passes)
        self.passes = passes

    # --- Hooks ---

    def _watch(self):
        """Hooks new and unfrozen parameters. Returns the numbers of all with requires_grad."""
        moving = self._watched.watch()
        if self.groups:
            for number, p in enumerate(self._parameters):
                self.ledger.set_in_group(number, p.requires_grad)
        return moving

    @untraced
    def _before_gradient(self, number, p, _):
        """Called before a contribution to p.grad. Protects a gradient in flight from it."""
        if not self.ledger.is_taken(number):
            self._shared_gradients.expect(number, p)
            return
        if not self.ledger.is_nested(number) and not self._passes.is_nested():
            parameters.refuse_another_pass()
        if self.ledger.expect_late_part(number):
            self._detach_in_flight(number, p)

    def _detach_in_flight(self, number, p):
        """Sets the gradient in flight aside: the engine allocates another one for later parts."""
        self._late[number] = p.grad
        p.grad = None
        if self._has_warned_of_parts:
            return
        self._has_warned_of_parts = True
        warnings.warn(
            f"The gradient of '{self.names[p]}' was sent before its last part, because a weight in "
            "several reentrant checkpoints gets its gradient in parts. Its result is right; use "
            "torch.utils.checkpoint(use_reentrant=False) for a gradient in one part.",
            stacklevel=3)

    @untraced
    def _on_gradient(self, number, p):
        self.is_synchronized = False
        came = _MORE if self.only_accumulates else self.ledger.count(number)
        if came is _LATE:
            return
        self._shared_gradients.take_in(number, p)
        if came is _COMPLETE:
            self._complete(number, p)
        elif came is _HELD:
            self._sent[number] = Held(p.grad)

    # --- Sending ---

    def _complete(self, number, p):
        """Sends the gradient and those that waited for it, or lets it wait."""
        gradient = self._gradient(number, p)
        waits = self._may_wait and _is_dense_on_cpu(gradient)
        due = self.ledger.complete(
            number, gradient.numel() * gradient.element_size() if waits else None,
            self._passes.is_nested())
        if due is _ITSELF:
            self._start([(number, gradient)])
        elif due is _GROUP:
            self._start_group(self.ledger.group_of(number))
        elif due is not _NOTHING:
            self._sent[number] = Held(gradient)
            if due is _BUCKET:
                self._start_held()

    def _start_group(self, group):
        self._start(self._gradients_of(self.ledger.take_group(group)))

    def _start_held(self):
        held = [(number, self._sent.pop(number)) for number in self.ledger.release()]
        for number, sent in held:
            self._warn_if_changed(number, sent)
            self._start(self._gradients_of([number]))

    def _gradients_of(self, numbers):
        return [(number, self._gradient(number, self._parameters[number])) for number in numbers]

    def _start(self, gradients):
        """Sends the gradients: the dense ones together."""
        dense = [pair for pair in gradients if not pair[1].is_sparse]
        if len(dense) < len(gradients):
            for number, gradient in gradients:
                if gradient.is_sparse:
                    self._sent[number] = Sent([], self._start_sparse(number, gradient))
                    self.ledger.mark_sent(number)
        if dense:
            named = dense[:1] if self._sends_in_place else dense
            finish = self._sender.start(
                [self.wire_name(self._parameters[number]) for number, _ in named],
                [gradient for _, gradient in dense])
            sent = Sent(dense, finish)
            for number, _ in dense:
                self._sent[number] = sent
                self.ledger.mark_sent(number)

    def _gradient(self, number, p):
        gradient = p.grad
        if gradient is None:
            # Other ranks used this parameter; this rank adds zeros.
            gradient = p.grad = parameters.zero_gradient(p, self._sparse_dims.get(number))
        elif gradient.is_sparse:
            self._sparse_dims[number] = self._sparse_dim(number, gradient)
            if gradient.sparse_dim() != self._sparse_dims[number]:
                gradient = p.grad = parameters.zero_gradient(p, self._sparse_dims[number])
        elif not gradient.is_contiguous():
            gradient = p.grad = gradient.contiguous()
        return gradient

    def _sparse_dim(self, number, gradient):
        """The number of sparse dimensions; 0: of a dense gradient.

        zero_() of a sparse tensor makes all of its dimensions sparse in torch 1.13.
        """
        known = self._sparse_dims.get(number, 0)
        if gradient is None or not gradient.is_sparse or (known and gradient._nnz() == 0):
            return known
        return gradient.sparse_dim()

    def _start_sparse(self, number, gradient):
        p = self._parameters[number]
        name = self.wire_name(p)
        if not self._optimizer.sparse_as_dense:
            result = self._sender.start_sparse(name, gradient)
        else:
            dense = gradient.to_dense().contiguous()
            wait = self._sender.start([name], [dense])

            def result():
                wait()
                return dense.to_sparse(self._sparse_dims[number])

        def finish():
            p.grad = result()

        return finish

    # --- The end of a step ---

    def complete(self):
        """Waits until all gradients are reduced."""
        # The last survivor of a job still has hooks, which send.
        if self.is_distributed() or self.is_under_way():
            moving = self._watch()  # Parameters may have been added or unfrozen since.
            for number, sent in self._sent.items():
                self._warn_if_changed(number, sent)
            late, all_held = self._agree(moving)
            if all_held:
                self._send_together(moving)
            else:
                self._send_rest(moving)
            self._wait(late)
        self.is_synchronized = True

    def abandon(self):
        """Waits for the gradients in flight, and drops their values and errors."""
        with contextlib.suppress(Exception):
            self._start_held()  # Other ranks may have sent them.
        for sent in dict.fromkeys(self._sent.values()):
            with contextlib.suppress(Exception), torch.no_grad():
                sent.finish()
        self.reset()

    def on_their_way(self):
        """Parameter -> Sent or Held, for gradients in flight or waiting to be sent."""
        return {self._parameters[number]: sent for number, sent in self._sent.items()}

    def is_under_way(self):
        """Whether gradients are in flight, or wait to be sent."""
        return bool(self._sent)

    def hooked_parameters(self):
        """The parameters whose gradients are reduced."""
        return {self._parameters[number] for number in self._watched.hooked}

    def _send_rest(self, moving):
        for number in self.ledger.rest(moving):
            self._complete(number, self._parameters[number])
        for group in self.ledger.waiting_groups():
            self._start_group(group)
        self._start_held()

    def _send_together(self, moving):
        """Sends all gradients in one operation, for which this thread waits."""
        self.ledger.release()
        self._sent.clear()
        gradients = self._gradients_of(self.ledger.rest(moving))
        together, others = [], []
        for pair in gradients:
            (together if _is_dense_on_cpu(pair[1]) else others).append(pair)
        with AT_ONCE:
            self._start(together)
            for pair in others:
                self._start([pair])

    def _agree(self, moving):
        """Returns the gradients with a late part on a rank, and whether all ranks hold everything.

        All ranks reduce these late parts. Also learns which gradients are sparse on any rank, for
        ranks that have no gradient. If asked for, also learns which parameters have a gradient on
        no rank.
        """
        if not moving:
            return [], False
        gradients = [self._parameters[number].grad for number in moving]
        exist = [gradient is not None for gradient in gradients] if self._finds_unused else []
        facts = self.ledger.facts(moving, exist)
        sparse_dims = bytes([self._sparse_dim(number, gradient)
                             for number, gradient in zip(moving, gradients)])
        most = self._sender.most("agree." + self.wire_name(self._parameters[moving[0]]),
                                 facts + sparse_dims)
        if any(most[len(facts):]):
            self._sparse_dims.update(
                (number, dim) for number, dim in zip(moving, most[len(facts):]) if dim)
        return self.ledger.agree(moving, most[:len(facts)])

    def _wait(self, late):
        failure = None
        for sent in dict.fromkeys(self._sent.values()):
            try:
                with torch.no_grad():
                    sent.finish()
            except Exception as error:  # The others are waited for in any case.
                failure = failure or error
        if failure is None:
            self._add_late_parts(late)
        self.ledger.learn_parts()
        self.reset()
        if failure is not None:
            raise failure

    def _warn_if_changed(self, number, sent):
        p = self._parameters[number]
        if self._has_warned_of_changes or number in self._late or not sent.has_changed(number, p):
            return
        self._has_warned_of_changes = True
        warnings.warn(
            f"The gradient of '{self.names[p]}' was changed while it was reduced, so its value is "
            "undefined. Call optimizer.synchronize() before changing gradients, for instance "
            "before clipping. Then call optimizer.step() within "
            "`with optimizer.skip_synchronize():`.", stacklevel=5)

    def _add_late_parts(self, late):
        """Adds the late parts of all ranks to the gradients that were reduced before."""
        for number in late:
            p = self._parameters[number]
            part = None
            if number in self._late:
                part, p.grad = p.grad, self._late[number]
            if part is None:
                part = torch.zeros_like(p)
            with torch.no_grad():
                part = part.to_dense().contiguous() if part.is_sparse else part.contiguous()
                self._sender.reduce("late." + self.wire_name(p), part)
                p.grad = p.grad + part if p.grad.is_sparse else p.grad.add_(part)

    def start_anew(self):
        """Restarts the counts, for another number of backward passes."""
        self.ledger.forget_contributions()

    def reset(self):
        """Prepares the next step."""
        self.is_synchronized = False
        self.ledger.reset()
        self._sent.clear()
        self._late.clear()


def _is_dense_on_cpu(gradient):
    """Whether a gradient may wait and be sent with any others: a dense one on the CPU."""
    return gradient.is_cpu and not gradient.is_sparse
