# SPDX-License-Identifier: Apache-2.0
"""Training that goes on when ranks are lost: state that is committed, restored and synchronized."""
import abc
import copy
import functools
import queue

from horovodpp.common import basics
from horovodpp.common.exceptions import (
    HorovodInternalError, HostsUpdatedInterrupt, InvalidCallError)


class State(abc.ABC):
    """What training needs to go on from a commit.

    bcast_object: sends an object of rank 0 to all. get_rank: the number of this rank.
    """

    def __init__(self, bcast_object, get_rank):
        self._bcast_object = bcast_object
        self._rank = get_rank
        self._host_messages = queue.Queue()
        self._last_updated_timestamp = 0
        self._reset_callbacks = []

    def register_reset_callbacks(self, callbacks):
        """Calls each of them after the ranks have changed: to scale the learning rate, say."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        """After the ranks have changed."""
        self._host_messages = queue.Queue()
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp, update_res):
        """From whoever watches hosts; update_res: 0 nothing, 1 removed, 2 added, 3 both."""
        self._host_messages.put((timestamp, update_res))

    def commit(self):
        """Saves the state, and looks whether hosts have changed."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self):
        """Raises HostsUpdatedInterrupt, on every rank, if rank 0 has heard that hosts changed."""
        latest = self._last_updated_timestamp
        update = 0
        while not self._host_messages.empty():
            timestamp, what = self._host_messages.get()
            if timestamp > latest:
                latest = timestamp
                update |= what
        previous, latest, update = self._bcast_object(
            (self._last_updated_timestamp, latest, update))
        self._last_updated_timestamp = latest
        if latest > previous:
            raise HostsUpdatedInterrupt(update == 1)

    @abc.abstractmethod
    def save(self):
        """Keeps the state in memory."""

    @abc.abstractmethod
    def restore(self):
        """Returns to what save() kept."""

    @abc.abstractmethod
    def sync(self):
        """Makes the state on all ranks that of rank 0."""

    def reset(self):
        """After the ranks have changed, before the callbacks."""


class ObjectState(State):
    """A state of attributes that can be pickled: ObjectState(..., epoch=0, batch=0)."""

    def __init__(self, bcast_object, get_rank, **kwargs):
        self._saved_state = kwargs
        vars(self).update(copy.deepcopy(kwargs))
        super().__init__(bcast_object, get_rank)

    def save(self):
        self._saved_state = {name: copy.deepcopy(getattr(self, name))
                             for name in self._saved_state}

    def restore(self):
        for name, value in self._saved_state.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self):
        if self._saved_state:
            self.save()
            self._saved_state = self._bcast_object(self._saved_state)
            self.restore()


def _reset():
    """Goes on with the ranks there are."""
    try:
        basics.reform()
    except HorovodInternalError:  # The job is not broken, or cannot be re-formed.
        basics.shutdown()
        basics.init()


def run_fn(func, reset=_reset):
    """What elastic.run makes of a function."""

    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        skip_sync = False
        while True:
            try:
                if not skip_sync:
                    state.sync()
                return func(state, *args, **kwargs)
            except InvalidCallError:
                raise  # The program's own mistake, which it would make again.
            except HorovodInternalError:
                state.restore()
                skip_sync = False
            except HostsUpdatedInterrupt as interrupt:
                skip_sync = interrupt.skip_sync
            reset()
            state.on_reset()

    return wrapper
