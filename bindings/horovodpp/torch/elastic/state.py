# SPDX-License-Identifier: Apache-2.0
"""The state of a training with torch."""
import copy

import torch

from horovodpp.common.elastic import ObjectState
from horovodpp.torch.elastic.sampler import ElasticSampler
from horovodpp.torch.functions import (
    broadcast_object, broadcast_optimizer_state, broadcast_parameters)
from horovodpp.torch.mpi_ops import rank


class StateHandler:
    """Saves, restores and synchronizes values of one type.

    TorchState calls save() on all handlers only after sync() of all. So a rank lost in between
    leaves no commit that mixes the states of two ranks.
    """

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


class _SavedByStateDict(StateHandler):
    def __init__(self, value):
        super().__init__(value)
        self.save()

    def save(self):
        self._saved = copy.deepcopy(self.value.state_dict())

    def restore(self):
        self.value.load_state_dict(copy.deepcopy(self._saved))


class ModelStateHandler(_SavedByStateDict):
    def sync(self):
        broadcast_parameters(self.value.state_dict(), root_rank=0)


class OptimizerStateHandler(_SavedByStateDict):
    def sync(self):
        broadcast_optimizer_state(self.value, root_rank=0)


class SamplerStateHandler(_SavedByStateDict):
    def sync(self):
        self.value.load_state_dict(broadcast_object(self.value.state_dict(), 0))


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


class TorchState(ObjectState):
    """A state of models, optimizers, samplers, and other values that can be pickled.

        state = TorchState(model, optimizer, sampler=sampler, epoch=0)

    model, optimizer: values to keep. Pass others as keywords. Assigning to one of them saves it.
    """

    def __init__(self, model=None, optimizer=None, **kwargs):
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
        super().__init__(broadcast_object, rank, **rest)

    def save(self):
        for handler in self._handlers.values():
            handler.save()
        super().save()

    def restore(self):
        for handler in self._handlers.values():
            handler.restore()
        super().restore()

    def sync(self):
        for handler in self._handlers.values():
            handler.sync()
        super().sync()

    def reset(self):
        for handler in self._handlers.values():
            if isinstance(handler.value, ElasticSampler):
                handler.value.reset()

    def __setattr__(self, name, value):
        handler = self.__dict__.get("_handlers", {}).get(name)
        if handler is not None:
            handler.set_value(value)
        super().__setattr__(name, value)
