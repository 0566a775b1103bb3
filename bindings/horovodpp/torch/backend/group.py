# SPDX-License-Identifier: Apache-2.0
"""ProcessGroup: a group of ranks, with the interface of torch.distributed.ProcessGroup."""
import atexit
import collections
import contextlib
import itertools
import sys
import threading
from datetime import timedelta
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from horovodpp import _core
from horovodpp.common.handles import AT_ONCE
from horovodpp.torch.backend import completions, job, memory, older_torch, records
from horovodpp.torch.backend.errors import TimedOut, explained
from horovodpp.torch.backend.messages import Messages, first_tag_of
from horovodpp.torch.backend.moves import Moves
from horovodpp.torch.backend.reductions import Reductions
from horovodpp.torch.backend.work import Done, Several, Work
from horovodpp_torch_backend import NAME

# Calls alike take turns with so many names. A name that comes again needs no agreement of the
# ranks, and calls in flight need different names.
_NAMES_OF_A_CALL = 8
_DONE_WORKS = 256
_REFERENCES_OF_OUR_OWN = 2  # A parameter, and the argument of getrefcount().
_NO_TIMEOUT = c10d.BarrierOptions().timeout
_OPTIONS = SimpleNamespace(
    allreduce=c10d.AllreduceOptions(), allgather=c10d.AllgatherOptions(),
    broadcast=c10d.BroadcastOptions(), reduce_scatter=c10d.ReduceScatterOptions(),
    alltoall=c10d.AllToAllOptions(), barrier=c10d.BarrierOptions())
_TELLS_WAITS = hasattr(c10d.AllreduceOptions, "asyncOp")  # Older torch does not.


def new_group(options):
    """The group that torch asks for: its ranks enter the job, or share the job's ranks."""
    ranks = list(options.global_ranks_in_group)
    is_first = not ranks or not _core.is_initialized()
    if is_first:
        if ranks and len(ranks) != dist.get_world_size():
            raise RuntimeError("the first group of the backend horovodpp must have all ranks")
        job.enter(options.store, options.group_rank, options.group_size)
        ranks = ranks or list(range(options.group_size))
    return ProcessGroup(ranks, str(options.group_id), options.timeout, options.store, is_first)


class _Calls:
    """Calls alike: the names that they take in turn, and their shapes."""

    def __init__(self, prefix, shapes):
        self.names = itertools.cycle(f"{prefix}#{n}" for n in range(_NAMES_OF_A_CALL))
        self.shapes = shapes


class ProcessGroup(Reductions, Moves, Messages, dist.ProcessGroup):
    """A group of ranks of the job. torch makes it: init_process_group("horovodpp"), new_group().

    Operations are matched by kind, size and order, so every rank calls them in the same order, as
    torch.distributed asks for. Thread-safe as far as that order allows.
    """

    options = _OPTIONS

    def __init__(self, ranks, name, timeout, store, is_first=False):
        """ranks: of the job, ascending. is_first: the job may end with this group."""
        super().__init__(ranks.index(_core.rank()), len(ranks))
        self.ranks = ranks
        is_whole = len(ranks) == _core.size()
        self._key = job.unique(name)  # In names of operations; torch may rename the group.
        self._owns_set = not is_whole
        self._is_closed = False
        self.core = _core.ProcessSet() if is_whole else _core.new_process_set(ranks, self._key)
        self.timeout = completions.seconds(timeout)
        self._store = store
        self._name = name
        self._is_first = is_first
        self._calls = {}
        self._started = 0
        self._in_flight = collections.deque()
        self._done = collections.deque(maxlen=_DONE_WORKS)
        self._messages = []
        self._messages_started = 0
        self._coalesced = None
        self._lock = threading.Lock()
        self._barriers = self._splits = 0
        self._first_tag = first_tag_of(self._key, is_first or not is_whole)
        self.place = records.Place(self)
        self._zero = torch.zeros(1, dtype=torch.uint8)
        self._zero_described = memory.described(self._zero)

    # --- Operations ---

    def _run(self, key, *arguments):
        """Starts an operation and returns its work: _run_unseen(), seen by torch's profiler.

        The span ends with the call: a span that another thread ends may outlive the profiler, whose
        memory it uses.
        """
        if not torch.autograd._profiler_enabled():
            return self._run_unseen(key, *arguments)
        with torch.autograd.profiler.record_function(f"{NAME}:{key[0]}"):
            return self._run_unseen(key, *arguments)

    def _run_unseen(self, key, start, opts, outputs, finish=None, keep=None):
        """Starts an operation and returns its work; waits for it first if the caller will.

        key: the kind, and what tells apart operations that do not match. start: submits under a
        name. finish: see Work. keep: the memory that the operation uses besides the outputs.
        """
        timeout = opts.timeout
        timeout = self.timeout if timeout == _NO_TIMEOUT else completions.seconds(timeout)
        calls = self._calls.get(key)
        if calls is None:
            calls = self._calls[key] = _Calls(f"{self._key}/{key[0]}{key[1:]}", records.Shapes(
                key[0], keep, outputs))
        if _TELLS_WAITS and not opts.asyncOp and self._coalesced is None:
            with AT_ONCE:
                operation, record = self._start(calls, start, timeout)
            return self._wait_now(operation, timeout, outputs, finish, keep, record)
        work = Work(*self._start(calls, start, timeout), timeout, outputs, finish,
                    (keep, self._zero))
        self._in_flight.append(work)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def _start(self, calls, start, timeout):
        """(operation, its record)"""
        with self._lock:
            in_flight = self._in_flight
            while in_flight and in_flight[0].is_done():
                self._keep_for_torch(in_flight.popleft())
            name = next(calls.names)
            self._started += 1
            record = records.Record(self.place, calls.shapes, self._started, timeout)
            try:
                return start(name), record
            except ValueError as error:
                if "in flight" not in str(error):
                    raise
            # The ranks start the operations before this one in any case.
            for operation in [work.operation for work in in_flight]:
                with contextlib.suppress(RuntimeError):  # An error of that work.
                    operation and completions.wait(operation, self.timeout)
            return start(name), record

    def _keep_for_torch(self, work):
        """Keeps a work that is done: older torch waits for it, but does not keep it in Python."""
        if older_torch.KEEPS_WORKS:
            return
        if sys.getrefcount(work) <= _REFERENCES_OF_OUR_OWN:
            work.outputs = []  # C++ only waits.
        self._done.append(work)

    def _wait_now(self, operation, timeout, outputs, finish, keep, record):
        try:
            result = completions.wait(operation, timeout)
        except TimedOut as error:
            self._in_flight.append(Work(operation, record, timeout, outputs, finish, keep))
            raise record.explained(error) from None
        except KeyboardInterrupt:
            self._in_flight.append(Work(operation, record, timeout, outputs, finish, keep))
            raise
        except Exception as error:
            record.ended(error)
            raise explained(error) from None
        record.ended()
        if finish:
            finish(result)
        return Done(outputs)

    def look_at_calls_in_flight(self):
        """Notes which calls have ended, in their records."""
        for work in [*self._in_flight, *self._messages]:
            work.is_done()
        self.place.description = self.group_desc

    def _several(self, works):
        return works[0] if len(works) == 1 else Several(works)

    def _start_coalescing(self, device=None):
        self._coalesced = []

    def _end_coalescing(self, device=None):
        works, self._coalesced = self._coalesced, None
        return self._several(works) if works else Done()

    # --- Names and settings, as torch asks for them ---

    def getBackendName(self):
        return NAME

    def name(self):
        return NAME

    @property
    def group_name(self):
        return self._name

    def getGroupName(self):
        return self._name

    def _set_group_name(self, name):
        self._name = str(name)

    setGroupName = _set_group_name

    @property
    def pg_name(self):
        return self._name

    @property
    def _device_types(self):
        return [torch.device(kind) for kind in ("cpu", "cuda")[:1 + torch.cuda.is_available()]]

    def _get_backend(self, device):
        return self

    @property
    def supports_splitting(self):
        return True

    def _set_default_timeout(self, timeout):
        self.timeout = completions.seconds(timeout)

    set_timeout = _set_default_timeout

    def get_group_store(self):
        return self._store

    def _get_sequence_number_for_group(self):
        return self._started

    def _set_sequence_number_for_group(self):
        pass

    # --- Groups and their end ---

    def split_group(self, ranks, timeout=None, opts=None, group_name=None, group_desc=None,
                    device_types=None):
        """A group of some `ranks` of this group; None on the others."""
        ranks = sorted(ranks)
        self._splits += 1
        if self.rank() not in ranks:
            return None
        timeout = timeout or timedelta(seconds=self.timeout)
        name = group_name or f"{self._name}/{self._splits}:{ranks}"
        store = dist.PrefixStore(f"{name}/", self._store)
        group = ProcessGroup([self.ranks[rank] for rank in ranks], name, timeout, store)
        if group_desc is not None:
            group._set_group_desc(group_desc)
        return group

    def shutdown(self):
        """Ends the group; a first group also leaves a job that it entered.

        Does not wait for the other members. The job frees the group's process set once all members
        have ended the group.
        """
        for work in [*self._in_flight, *self._messages]:
            work.fail(RuntimeError(f"the process group '{self._name}' is closed"))
        if self._is_first:
            job.leave(self.timeout)
        elif not self._is_closed and self._owns_set and _core.is_initialized():
            # The job has ended, and perhaps another one has begun.
            with contextlib.suppress(RuntimeError, ValueError):
                _core.free_process_set(self.core)
        self._is_closed = True

    def abort(self):
        """Ends the job on every rank: operations in flight fail."""
        if _core.is_initialized():
            _core.abort(f"called abort() of the process group '{self._name}'")
        self.shutdown()


older_torch.let_destroy_shut_down(ProcessGroup)


@atexit.register
def _leave_at_exit():
    """A program may end without destroy_process_group()."""
    if dist.is_initialized() and isinstance(dist.group.WORLD, ProcessGroup):
        dist.group.WORLD.shutdown()
