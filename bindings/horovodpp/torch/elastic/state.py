# SPDX-License-Identifier: Apache-2.0
"""The state of a training with torch."""
from __future__ import annotations

from typing import Any, Dict, Optional, TYPE_CHECKING

import copy

import torch

from horovodpp.common.elastic import ObjectState
from horovodpp.common.explained import OUTSIDE_OF_A_JOB, explained
from horovodpp.torch.elastic.sampler import ElasticSampler
from horovodpp.torch.elastic.steps import Boundary, NewcomerWatch, furthest
from horovodpp.torch.functions import (
    broadcast_object, broadcast_parameters, receive_optimizer_state)
from horovodpp.torch.mpi_ops import rank


class StateHandler:
    """Saves, restores and synchronizes values of one type.

    TorchState calls save() on all handlers only after sync() of all. So a rank lost in between
    leaves no commit that mixes the states of two ranks.
    """

    root = 0  # The rank from which sync() takes the value.

    def __init__(self, value):
        self.value = value

    def set_value(self, value):
        self.value = value
        self.save()

    def save(self):
        raise NotImplementedError

    def restore(self):
        raise NotImplementedError

    def sync(self):
        raise NotImplementedError

    def receive(self):
        """Gets the value of rank `root`, and returns a function that takes it over.

        So the values of all handlers change together, after all have arrived. A handler that has
        only sync() changes its value here.
        """
        self.sync()
        return lambda: None


class _SavedByStateDict(StateHandler):
    def __init__(self, value):
        super().__init__(value)
        self.save()

    def save(self):
        self._saved = copy.deepcopy(self.value.state_dict())

    def restore(self):
        self.value.load_state_dict(copy.deepcopy(self._saved))

    def sync(self):
        self.receive()()

    def receive(self):
        if type(self).sync is not _SavedByStateDict.sync:
            return super().receive()  # A subclass of the program has its own way.
        state = self._received(self.value.state_dict())
        if rank() == self.root:
            return lambda: None
        return lambda: self.value.load_state_dict(state)

    def _received(self, state):
        """The state of rank `root`, in other memory than `state`."""
        raise NotImplementedError


class ModelStateHandler(_SavedByStateDict):
    def _received(self, state):
        if rank() != self.root:
            state = copy.deepcopy(state)
        broadcast_parameters(state, root_rank=self.root)
        return state


class OptimizerStateHandler(_SavedByStateDict):
    def _received(self, state):
        return receive_optimizer_state(state, self.root)


class SamplerStateHandler(_SavedByStateDict):
    def _received(self, state):
        return broadcast_object(state, self.root)


_handler_registry = [
    (torch.nn.Module, ModelStateHandler),
    (torch.optim.Optimizer, OptimizerStateHandler),
    (ElasticSampler, SamplerStateHandler),
]


def get_handler_registry():
    """(type, handler class) for the values that handlers keep; the first match is used."""
    return _handler_registry


def set_handler_registry(registry):
    global _handler_registry
    _handler_registry = registry


def _copied(value):
    """A deep copy. Most values are numbers, which need none: end_step() has microseconds."""
    return value if type(value) in (int, float, bool, str) else copy.deepcopy(value)


@explained(kwargs="further values, by name, such as epoch=0.",
           raises=OUTSIDE_OF_A_JOB)
class TorchState(ObjectState):
    """A state of models, optimizers, samplers, and other values that can be pickled.

    Example:
        state = TorchState(model, optimizer, sampler=sampler, epoch=0)

    Args:
        model, optimizer: values to keep. Pass others as keywords. Assigning to one of them saves
            it.

    A loop either calls commit(), as in Horovod, and goes back to the last commit after a loss; or it
    calls end_step() after each step, and then loses one step at most:

        while state.step < 1000:
            loss_of(model, state.step).backward()
            optimizer.step()
            state.step += 1
            state.end_step()

    Such a step makes no call of other ranks between optimizer.step() and end_step(). If it does, and
    a rank is lost in that call, the survivors go back to the last commit.
    """

    def __init__(self, model: Optional[torch.nn.Module] = None,
                 optimizer: Optional[torch.optim.Optimizer] = None, **kwargs: Any) -> None:
        kwargs.update((name, value) for name, value in (("model", model), ("optimizer", optimizer))
                      if value is not None)
        self._handlers = {}
        for name, value in kwargs.items():
            for kind, handler in get_handler_registry():
                if isinstance(value, kind):
                    self._handlers[name] = handler(value)
                    break
        rest = {name: value for name, value in kwargs.items() if name not in self._handlers}
        for name, handler in self._handlers.items():
            vars(self)[name] = handler.value
        self._version = 0  # Boundaries passed,
        self._saved_version = 0  # and at the last commit.
        self._boundary = None  # With end_step() only.
        self._at_boundary: Dict[str, Any] = {}  # The values without a handler.
        self._newcomers = NewcomerWatch()
        super().__init__(broadcast_object, rank, **rest)

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...

    def save(self) -> None:
        for handler in self._handlers.values():
            handler.save()
        super().save()
        self._saved_version = self._version

    def end_step(self) -> None:
        """Ends a step: a loss from now on does not undo it.

        Every rank calls it, after the optimizers' steps and after all changes to the values of the
        state. Raises HostsUpdatedInterrupt on all ranks if newcomers wait.
        """
        self._version += 1
        self._begin_step()
        self._newcomers.look()

    def _begin_step(self):
        if self._boundary is None:
            self._boundary = Boundary(self._values_of(torch.nn.Module),
                                      self._values_of(torch.optim.Optimizer))
            self._samplers = self._values_of(ElasticSampler)
        self._boundary.keep()
        self._at_boundary = {name: _copied(getattr(self, name)) for name in self._saved_state}
        self._samplers_at_boundary = [sampler.state_dict() for sampler in self._samplers]

    def _values_of(self, kind):
        return [handler.value for handler in self._handlers.values()
                if isinstance(handler.value, kind)]

    def restore(self) -> None:
        """Goes back to the last boundary, or to the last commit if it is passed."""
        if self._boundary is not None and not self._boundary.is_passed():
            self._boundary.put_back()
            for name, value in self._at_boundary.items():
                setattr(self, name, copy.deepcopy(value))
            for sampler, kept in zip(self._samplers, self._samplers_at_boundary):
                sampler.load_state_dict(kept)
            return
        for handler in self._handlers.values():
            handler.restore()
        super().restore()
        self._version = self._saved_version

    def sync(self) -> None:
        """Takes the state of the rank that got furthest; moves nothing if all have the same.

        Raises RuntimeError if only newcomers are left, which have no state.
        """
        root, all_have_it = furthest(self._version if self._has_state else -1)
        if root < 0:
            raise RuntimeError("all ranks that had the state of the training are lost; start the "
                               "job again, from a checkpoint")
        if self._boundary is None or not all_have_it:
            self._take_state_of(root)
            self._has_state = True
        if self._boundary is not None:
            self._begin_step()

    def _take_state_of(self, root):
        # The values change after all of them have arrived. So the state is of one rank, even if the
        # job breaks meanwhile.
        take_over = []
        for handler in self._handlers.values():
            handler.root = root
            take_over.append(handler.receive())
        values = {name: getattr(self, name) for name in self._saved_state}
        self._version, uses_steps, values = broadcast_object(
            (self._version, self._boundary is not None, values), root)
        for take in take_over:
            take()
        for name, value in values.items():
            setattr(self, name, value)
        self.save()
        if uses_steps:
            self._begin_step()

    def contents(self) -> Dict[str, Any]:
        """All values, by name; those with a state_dict() as their state_dict()."""
        kept = {name: handler.value.state_dict() for name, handler in self._handlers.items()}
        values = {name: getattr(self, name) for name in self._saved_state}
        return {"version": self._version, "kept": kept, "values": values}

    def replace_contents(self, contents: Dict[str, Any]) -> None:
        """Replaces all values with contents() of another process, and saves them."""
        for name, value in contents["kept"].items():
            self._handlers[name].value.load_state_dict(value)
        for name, value in contents["values"].items():
            setattr(self, name, value)
        self._version = contents["version"]
        self._boundary = None
        self.save()

    def on_reset(self) -> None:
        self._newcomers.forget()
        super().on_reset()

    def reset(self) -> None:
        for sampler in self._values_of(ElasticSampler):
            sampler.reset()

    def __setattr__(self, name: str, value: Any) -> None:
        handler = self.__dict__.get("_handlers", {}).get(name)
        if handler is not None:
            handler.set_value(value)
            vars(self)["_boundary"] = None  # It is of the value before.
        super().__setattr__(name, value)
