# SPDX-License-Identifier: Apache-2.0
"""Training that survives lost ranks: its state is committed, restored and synchronized."""
from __future__ import annotations

import abc
import contextlib
import copy
import functools
import os
import queue
from typing import Any, Callable, Iterable, List, Tuple, TypeVar

from horovodpp import _core
from horovodpp.common import basics, joining
from horovodpp.common.exceptions import (
    HorovodInternalError, HostsUpdatedInterrupt, InvalidCallError)
from horovodpp.common.explained import explained

Result = TypeVar("Result")


def _waiting_newcomers():
    return _core.waiting_newcomers() if basics.is_initialized() else 0


@explained(bcast_object="a function that sends an object of rank 0 to all ranks.",
           get_rank="a function that returns the number of this rank.",
           raises={"TypeError": "a method is not defined: save(), restore() and sync() are."},
           example="""
               class MyState(hvd.elastic.State):
                   ...                       # save(), restore(), sync()""")
class State(abc.ABC):
    """The data that training needs to continue from a commit."""

    def __init__(self, bcast_object: Callable[..., Any], get_rank: Callable[[], int]) -> None:
        self._bcast_object = bcast_object
        self._rank = get_rank
        self._host_messages: queue.Queue[Tuple[float, int]] = queue.Queue()
        self._last_updated_timestamp: float = 0
        self._reset_callbacks: List[Callable[[], object]] = []
        # A newcomer to a running job has no state until it has got one of another rank.
        self._has_state = not os.environ.get("HOROVODPP_JOIN")

    def is_newcomer(self) -> bool:
        """Whether this process joins a running job, and has not got its state yet."""
        return not self._has_state

    def register_reset_callbacks(self, callbacks: Iterable[Callable[[], object]]) -> None:
        """Adds functions to call after the ranks have changed, say to scale the learning rate."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self) -> None:
        """Called after the ranks have changed."""
        self._host_messages = queue.Queue()
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp: float, update_res: int) -> None:
        """Called by a host watcher. update_res: 0 nothing, 1 removed, 2 added, 3 both."""
        self._host_messages.put((timestamp, update_res))

    def commit(self) -> None:
        """Saves the state, and checks whether hosts have changed."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Raises HostsUpdatedInterrupt on every rank if rank 0 has a message that hosts changed.

        Also if newcomers wait to join the job (horovodrun --max-np, --spares).
        """
        latest = self._last_updated_timestamp
        update = 0
        while not self._host_messages.empty():
            timestamp, what = self._host_messages.get()
            if timestamp > latest:
                latest = timestamp
                update |= what
        previous, latest, update, newcomers = self._bcast_object(
            (self._last_updated_timestamp, latest, update, _waiting_newcomers()))
        self._last_updated_timestamp = latest
        if latest > previous or newcomers > 0:
            raise HostsUpdatedInterrupt(update == 1 and newcomers == 0)

    @abc.abstractmethod
    def save(self) -> None:
        """Saves the state in memory."""

    @abc.abstractmethod
    def restore(self) -> None:
        """Restores the saved state."""

    @abc.abstractmethod
    def sync(self) -> None:
        """Replaces the state on all ranks with that of rank 0."""

    def reset(self) -> None:
        """Called after the ranks have changed, before the callbacks."""


class ObjectState(State):
    """A state of attributes that can be pickled: ObjectState(..., epoch=0, batch=0)."""

    def __init__(self, bcast_object: Callable[..., Any], get_rank: Callable[[], int],
                 **kwargs: Any) -> None:
        self._saved_state = kwargs
        vars(self).update(copy.deepcopy(kwargs))
        super().__init__(bcast_object, get_rank)

    def save(self) -> None:
        self._saved_state = {name: copy.deepcopy(getattr(self, name))
                             for name in self._saved_state}

    def restore(self) -> None:
        for name, value in self._saved_state.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self) -> None:
        # Saved only after all values have arrived: a commit must be from one rank, even if the job
        # breaks meanwhile.
        values = {name: getattr(self, name) for name in self._saved_state}
        if values:
            for name, value in self._bcast_object(values).items():
                setattr(self, name, value)
        self.save()


def _reset():
    """Continues with the remaining ranks, and with the newcomers that wait."""
    if not basics.is_initialized():
        basics.init()
        return
    try:
        basics.reform()
    except InvalidCallError:  # The job is not broken.
        if _grow():
            return
        # The program wants to restart it.
        _core.abort("begins anew")
        with contextlib.suppress(HorovodInternalError):
            while True:  # Until this rank, too, knows that the job is broken.
                joining.barrier()
        basics.reform()


def _grow():
    """Whether the job is another one now."""
    try:
        return basics.grow() is None
    except HorovodInternalError:  # A rank was lost meanwhile.
        basics.reform()
        return True


def run_fn(func: Callable[..., Result],
           reset: Callable[[], object] = _reset) -> Callable[..., Result]:
    """Makes func(state, ...) continue when ranks are lost.

    reset: enters a job of the remaining ranks. An exception in it ends the training.
    """

    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        # Another rank may be lost during any of these steps; then all steps run again. The state is
        # restored in the new job: broadcasts of the old one may write to it until reset().
        way_back = [state.sync]
        while True:
            try:
                for step in way_back:
                    step()
                return func(state, *args, **kwargs)
            except InvalidCallError:
                raise  # A mistake of the program, which would recur.
            except HorovodInternalError:
                way_back = [state.restore, state.on_reset, state.sync]
            except HostsUpdatedInterrupt:
                way_back = [state.on_reset, state.sync]
            reset()

    return wrapper
