# SPDX-License-Identifier: Apache-2.0
"""Steps of training as transactions: a rank that is lost costs the others one step at most.

Between two boundaries (TorchState.end_step()) only optimizer.step() changes parameters and the
optimizer's state, and it does so without waiting for other ranks. So after a loss each survivor is
at the boundary, or one optimizer.step() behind it.
"""
import functools
import os
import time

import torch

from horovodpp import _core
from horovodpp.common.exceptions import HostsUpdatedInterrupt
from horovodpp.torch.collectives.allgather import allgather
from horovodpp.torch.collectives.broadcast import broadcast_async_
from horovodpp.torch.mpi_ops import synchronize


def is_elastic():
    """Whether the launcher may add ranks to this job. Equal on all ranks."""
    return int(os.environ.get("HOROVODPP_ELASTIC", "0")) > 0


class Boundary:
    """The state of generators and buffers at the last boundary, and the updates since.

    models: the modules whose buffers a forward changes.
    optimizers: the torch.optim.Optimizer objects whose steps are counted.
    """

    def __init__(self, models, optimizers):
        self._buffers = [buffer for model in models for buffer in model.buffers()]
        self._kept = None
        self._updates = 0
        for optimizer in optimizers:
            self._count_steps_of(optimizer)

    def _count_steps_of(self, optimizer):
        step = optimizer.step

        @functools.wraps(step)
        def counted(*args, **kwargs):
            result = step(*args, **kwargs)
            self._updates += 1
            return result

        optimizer.step = counted

    def is_passed(self):
        """Whether an optimizer has made a step since the boundary, or there was none."""
        return self._updates > 0 or self._kept is None

    def keep(self):
        """Begins a step here."""
        self._updates = 0
        if self._kept is None:
            self._kept = [buffer.detach().clone() for buffer in self._buffers]
        elif self._kept:
            with torch.no_grad():
                for kept, buffer in zip(self._kept, self._buffers):
                    kept.copy_(buffer)
        self._random = torch.default_generator.get_state()

    @torch.no_grad()
    def put_back(self):
        """Undoes what a step has changed before its update."""
        for kept, buffer in zip(self._kept, self._buffers):
            buffer.copy_(kept)
        torch.set_rng_state(self._random)


def furthest(version):
    """The rank to take the state from, and whether all ranks have the same.

    version: the boundaries that this rank's state has passed; negative if it has no state to give.
    Returns (-1, False) if no rank has a state.
    """
    versions = allgather(torch.tensor([version]), name="horovodpp.elastic.versions").tolist()
    last = max(versions)
    if last < 0:
        return -1, False
    return versions.index(last), min(versions) == last


class NewcomerWatch:
    """Tells all ranks at the same boundary that newcomers wait.

    Rank 0 broadcasts their number while the ranks compute, and the ranks read it some boundaries
    later, so no rank waits. With short steps they look less often than at each step: rank 0 also
    tells how many boundaries to skip.
    """

    _PAUSE = 0.02  # Seconds; a newcomer may wait for this long.
    _LONGEST_INTERVAL = 64

    def __init__(self):
        self._is_elastic = is_elastic()
        self.forget()

    def look(self):
        """Raises HostsUpdatedInterrupt on all ranks if rank 0 had newcomers a moment ago."""
        if not self._is_elastic:
            return
        self._passed += 1
        if self._passed < self._interval:
            return
        handle, self._handle = self._handle, None
        if handle is not None:
            synchronize(handle)
            waiting, self._interval = self._numbers.tolist()
            if waiting > 0:
                raise HostsUpdatedInterrupt()
        self._ask()

    def _ask(self):
        now = time.monotonic()
        interval = 1
        if self._since is not None:
            steps = self._PAUSE * self._passed / max(now - self._since, 1e-9)
            interval = min(max(int(steps), 1), self._LONGEST_INTERVAL)
        self._since = now
        self._passed = 0
        self._numbers = torch.tensor([_core.waiting_newcomers(), interval], dtype=torch.int32)
        self._handle = broadcast_async_(self._numbers, 0, name="horovodpp.elastic.newcomers")

    def forget(self):
        """Begins anew, in another job."""
        self._handle = None
        self._interval = 1
        self._passed = 0
        self._since = None
