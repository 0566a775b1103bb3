# SPDX-License-Identifier: Apache-2.0
"""A torch optimizer whose gradients are reduced over the ranks while backward runs."""
from __future__ import annotations

import contextlib
import warnings
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, Optional, Sequence, Tuple, Type, Union)

import torch

from horovodpp.common.explained import explained
from horovodpp.common.process_sets import ProcessSet, core_of, global_process_set
from horovodpp.common.spans import span
from horovodpp.torch import extended_step, parameters
from horovodpp.torch.adasum_optimizer import DistributedAdasumOptimizer
from horovodpp.torch.compression import Compression, Compressor, Exchanger
from horovodpp.torch.mpi_ops import Adasum, Average, Sum, size
from horovodpp.torch.reduction import Reduction
from horovodpp.torch.sending import Sender

# For type checkers, the result of DistributedOptimizer() fits a variable of the wrapped class.
if TYPE_CHECKING:
    _Wrapped = Any
else:
    _Wrapped = torch.optim.Optimizer


class _DistributedOptimizer(_Wrapped):
    # DistributedOptimizer() copies these methods into a class that derives from the wrapped
    # optimizer's, `_wrapped`.
    process_set: ProcessSet
    op: int
    gradient_predivide_factor: float
    sparse_as_dense: bool
    steps_taken: int

    def _begin(self, named_parameters, sender, backward_passes_per_step=1, groups=None,
               sparse_as_dense=False, gradients_in_arena=True, bucket_bytes=0,
               find_unused_parameters=False):
        names = parameters.names_of(self.param_groups, named_parameters)
        self._parameter_names = names
        self._sender = sender
        self.process_set = sender.process_set
        self.op = sender.op
        self.gradient_predivide_factor = sender.gradient_predivide_factor
        self.sparse_as_dense = sparse_as_dense
        self.steps_taken = 0
        self._should_synchronize = True
        self._reduction = Reduction(self, names, sender, backward_passes_per_step, groups,
                                    gradients_in_arena, bucket_bytes, find_unused_parameters)

    @property
    def backward_passes_per_step(self) -> int:
        """The number of backward passes whose sum is reduced."""
        return self._reduction.passes

    @backward_passes_per_step.setter
    def backward_passes_per_step(self, passes: int) -> None:
        self._reduction.expect(passes)

    # Programs read these private members of Horovod's optimizer. `_parameter_names` and
    # `_should_synchronize` are attributes.

    @property
    def _handles(self):
        """Parameter -> its gradient in flight; empty if none is."""
        return self._reduction.on_their_way()

    @property
    def _compression(self):
        return self._sender.compression

    @property
    def _synchronized(self):
        return self._reduction.is_synchronized

    @property
    def _requires_update(self):
        return self._reduction.hooked_parameters()

    @_requires_update.setter
    def _requires_update(self, parameters_):
        if set(parameters_) != self._requires_update:
            warnings.warn(
                "optimizer._requires_update cannot be changed: a parameter without a gradient on "
                "this rank adds zeros to that of the other ranks. Freeze it on all ranks to leave "
                "it out: requires_grad_(False).", stacklevel=2)

    def synchronize(self) -> None:
        """Waits until all gradients are reduced. You may change gradients afterwards."""
        self._reduction.complete()

    def finish_gradients(self) -> None:
        """synchronize(), unless that was done since the last backward pass, or is skipped."""
        if self._should_synchronize and not self._reduction.is_synchronized:
            self.synchronize()

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """In its scope step() takes the gradients as they are: use it after synchronize()."""
        previous, self._should_synchronize = self._should_synchronize, False
        try:
            yield
        finally:
            self._should_synchronize = previous

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """In its scope, backward adds to gradients on this rank only, as with torch's DDP.

        The next backward pass outside the scope, or step(), reduces the sum. Use it if the number
        of passes is not known in advance; otherwise use backward_passes_per_step.
        """
        reduction = self._reduction
        previous, reduction.only_accumulates = reduction.only_accumulates, True
        try:
            yield
        finally:
            reduction.only_accumulates = previous

    def step(self, closure: Optional[Callable[[], Any]] = None, *,
             weight: Union[int, float, None] = None,
             grad_scaler: Optional[torch.amp.GradScaler] = None, max_norm: Optional[float] = None,
             update_scaler: bool = True) -> Any:
        """Waits for the gradients, then takes the wrapped optimizer's step.

        Each call of `closure` reduces the gradients that it computes. The loss that it returns is
        also reduced, since all ranks have to decide alike.

        With a weight, a grad_scaler or a max_norm, the closure is called once and step() returns a
        StepResult. Then step() replaces synchronize(), unscale_(), clip_grad_norm_(),
        skip_synchronize(), scaler.step() and scaler.update(). It applies the arguments in this
        order:

        weight: the number of samples or tokens over which the loss on this rank is a sum. The step
            goes along the mean of all samples of all ranks. It may be 0. Given on all ranks or
            none.
        grad_scaler: a torch.amp.GradScaler, which unscales the reduced gradients, and takes or
            skips the step.
        max_norm: scales the reduced gradients down to that norm, over all parameters. Without a
            grad_scaler, raises RuntimeError if gradients are not finite.
        update_scaler: whether to update the scaler; by default True.
        """
        if weight is not None or grad_scaler is not None or max_norm is not None:
            return extended_step.take(self, closure, weight, grad_scaler, max_norm, update_scaler)
        if closure is not None:
            self.steps_taken += 1
            return self._wrapped.step(self, self._reducing(closure))
        if self._should_synchronize:
            if self._reduction.is_synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() context after "
                    "optimizer.synchronize(). This can cause training slowdown. You may want to "
                    "consider using optimizer.skip_synchronize() context if you use "
                    "optimizer.synchronize() in your code.", stacklevel=2)
            self.synchronize()
        self._reduction.is_synchronized = False
        self.steps_taken += 1
        with span("optimizer"):
            return self._wrapped.step(self)

    def _reducing(self, closure):
        def reduced():
            loss = closure()
            if self._should_synchronize:
                self.synchronize()
                self._reduction.is_synchronized = False
            if loss is None or not self._reduction.is_distributed():
                return loss
            return self._sender.mean("loss." + self._reduction.suffix,
                                     torch.as_tensor(loss).detach().clone())

        return reduced

    def sum_over_ranks(self, name, number):
        """The sum of the ranks' numbers; all ranks use the same name."""
        if not self._reduction.is_distributed():
            return number
        return self._sender.sum(f"{name}.{self._reduction.suffix}", number)

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """As the wrapped optimizer's. Raises AssertionError while gradients are in flight."""
        if self._reduction.is_under_way():
            parameters.refuse_zero_grad()
        self._reduction.reset()
        return self._wrapped.zero_grad(self, *args, **kwargs)

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Sets the number of backward passes whose sum is reduced, from now on."""
        self.backward_passes_per_step = passes
        self._reduction.start_anew()

    def state_dict(self) -> Dict[str, Any]:
        """The wrapped optimizer's state, and the state of compression as "compression".

        The state of compression differs between ranks, so each rank saves its own.
        """
        state = self._wrapped.state_dict(self)
        if self._sender.remembers():
            names = {self._reduction.wire_name(p): name
                     for p, name in self._reduction.names.items()}
            state["compression"] = {
                f"{names[wire]}.{what}": tensor for (wire, what), tensor in
                ((_split(key), tensor) for key, tensor in self._sender.compression.state().items())}
        return state

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """As the wrapped optimizer's. Waits for gradients in flight first."""
        self._reduction.abandon()
        if self._sender.remembers():
            remembered = ((_split(key), tensor)
                          for key, tensor in state_dict.get("compression", {}).items())
            suffix = self._reduction.suffix
            self._sender.compression.load_state({
                f"{name}{suffix}.{what}": tensor for (name, what), tensor in remembered})
        return self._wrapped.load_state_dict(self, state_dict)


def _split(key):
    """(gradient, name of its state)"""
    name, _, what = key.rpartition(".")
    return name, what


def _take_over(optimizer, methods):
    """An optimizer of a class that derives from `optimizer`'s, with its groups, state and hooks."""
    attributes = {name: value for name, value in methods.__dict__.items()
                  if name not in ("__dict__", "__weakref__")}
    attributes["_wrapped"] = optimizer.__class__
    wrapper = type(optimizer.__class__.__name__, (optimizer.__class__,), attributes)
    taken = wrapper.__new__(wrapper)
    # A scheduler replaces the optimizer's step by an attribute, which belongs to the old optimizer.
    taken.__dict__.update((name, value) for name, value in vars(optimizer).items()
                          if name not in ("step", "_wrapped_by_lr_sched"))
    # Otherwise a scaler would pass itself to step() instead of skipping the step.
    taken._step_supports_amp_scaling = False
    return taken


@explained(num_groups="Horovod's older name of `groups`.",
           returns="The optimizer, with the methods of the wrapped one, and synchronize(), "
                   "skip_synchronize() and no_sync().",
           raises={"ValueError": "an argument makes no sense, or the optimizer is wrapped already.",
                   "TypeError": "it is no optimizer of torch, or the set was not added."},
           example="""
               optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
               optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())""")
def DistributedOptimizer(optimizer: torch.optim.Optimizer,
                         named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None,
                         compression: Union[Type[Compressor], Exchanger] = Compression.none,
                         backward_passes_per_step: int = 1, op: int = Average,
                         gradient_predivide_factor: float = 1.0, num_groups: int = 0,
                         groups: Union[int, Sequence[Sequence[torch.Tensor]], None] = None,
                         sparse_as_dense: bool = False,
                         process_set: ProcessSet = global_process_set,
                         gradients_in_arena: bool = True, bucket_bytes: Optional[int] = None,
                         find_unused_parameters: Optional[bool] = None) -> _DistributedOptimizer:
    """An optimizer of `optimizer`'s class and state that reduces gradients over all ranks.

    Args:
        optimizer: the optimizer to wrap; do not use it afterwards. Its parameter groups and state
            are taken over.
        named_parameters: (name, parameter) for each parameter, equal on all ranks; by default
            parameters are numbered.
        compression: the compression of gradients.
        backward_passes_per_step: the number of backward passes whose sum is reduced.
        op: Average, Sum, or Adasum.
        gradient_predivide_factor: with Average, gradients are divided by it before the sum and
            multiplied by it after.
        groups: a number of groups, or lists of parameters, that are reduced together. Sparse
            gradients are reduced separately.
        sparse_as_dense: whether sparse gradients are reduced as dense ones.
        process_set: the ranks whose gradients are reduced.
        gradients_in_arena: whether a parameter's first gradient is moved to memory that the ranks
            of a node share. While the program keeps it there, it is reduced without a copy. Not
            with compression.
        bucket_bytes: complete gradients on the CPU, outside groups, are held back until they have
            so many bytes, or until the step, and then sent together. 0: none is held back. By
            default 16 MiB if the ranks are on one node and compute on all of its cores: the
            reduction then has no core of its own. Otherwise the default is 0. Not with compression.
        find_unused_parameters: whether a parameter whose gradient is None on all ranks keeps it, so
            that the step skips the parameter, as in one process: the default. False is Horovod's
            way: its gradient is zeros, and momentum and weight decay move it. Adasum knows only
            Horovod's way. Equal on all ranks.

    Every rank of the process set creates the same optimizers in the same order. Raises ValueError
    for arguments that make no sense.
    """
    if not hasattr(optimizer, "param_groups"):
        raise TypeError(f"DistributedOptimizer() wraps an optimizer of torch, not a "
                        f"{type(optimizer).__name__}")
    if hasattr(optimizer, "_wrapped"):
        raise ValueError("the optimizer is a DistributedOptimizer already: its gradients would be "
                         "reduced twice; wrap an optimizer once")
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if bucket_bytes is not None and bucket_bytes < 0:
        raise ValueError("bucket_bytes must be >= 0")
    if backward_passes_per_step <= 0:
        raise ValueError("backward_passes_per_step must be > 0")
    if op not in (Average, Sum, Adasum):
        raise ValueError(f"op is {op}: gradients are reduced by Average, Sum or Adasum")
    if find_unused_parameters and op == Adasum:
        raise ValueError("find_unused_parameters not supported with op == Adasum")
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
                           sender.bucket_bytes(bucket_bytes),
                           find_unused_parameters in (None, True))
    return distributed
