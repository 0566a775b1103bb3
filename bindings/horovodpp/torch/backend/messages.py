# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks of a group: send, receive, receive from any rank.

The library moves messages in host memory. Tensors on a GPU are copied there and back.
"""
import time
import zlib
from datetime import timedelta

import torch

from horovodpp import _core
from horovodpp.torch.backend import completions, memory, records
from horovodpp.torch.backend.errors import TimedOut
from horovodpp.torch.backend.work import Done, Work

_ANY = -1
# A message of so many bytes is copied, and its sender does not wait for the receiver: programs
# that send to each other first, and then receive, rely on that.
_COPIED_BYTES = 64 << 10
_TAG_BITS = 20
_FIRST_TAG_OF_BARRIERS = 1 << (_TAG_BITS - 1)
_TAGS_OF_BARRIERS = 1000


def first_tag_of(name, is_alone):
    """What a group adds to its tags, if it shares a process set with other groups."""
    return 0 if is_alone else (1 + zlib.crc32(name.encode()) % 1023) << _TAG_BITS


class _Receive(Work):
    """The work of a receive, which tells its source."""

    def __init__(self, group, operation, record, tensor, staged):
        def finish(rank):
            self._source = record.peer = group.ranks.index(rank)
            if staged is not tensor:
                tensor.copy_(staged)

        super().__init__(operation, record, group.timeout, [tensor], finish, staged)

    def _source_rank(self):
        self.wait()
        return self._source


class Messages:
    """A part of ProcessGroup."""

    def send(self, tensors, to_rank, tag=0):
        tensor, = tensors
        staged = memory.on_host(tensor)
        is_copied = staged.nbytes <= _COPIED_BYTES
        if is_copied and staged is tensor:
            staged = tensor.clone()
        record = self._record_of_message("send", staged, to_rank)
        operation = _core.send(memory.described_moved(staged), self.ranks[to_rank],
                               self._first_tag + tag, self.core)
        work = self._keep_message(Work(operation, record, self.timeout, [staged], None, tensor))
        return Done(tensors) if is_copied else work

    def recv(self, tensors, from_rank, tag=0):
        return self._receive(tensors, self.ranks[from_rank], tag, from_rank)

    def recv_anysource(self, tensors, tag=0):
        return self._receive(tensors, _ANY, tag, _ANY)

    def _receive(self, tensors, from_rank, tag, peer):
        tensor, = tensors
        staged = memory.on_host(tensor)
        record = self._record_of_message("recv", staged, peer)
        operation = _core.receive(memory.described_moved(staged), from_rank,
                                  self._first_tag + tag, self.core)
        return self._keep_message(_Receive(self, operation, record, tensor, staged))

    def _record_of_message(self, kind, tensor, peer):
        with self._lock:
            self._messages_started += 1
            return records.Record(self.place, records.Shapes(kind, tensor, None),
                                  self._messages_started, self.timeout, peer)

    def _keep_message(self, work):
        """Keeps the memory of messages in flight, which end in any order."""
        self._messages = [other for other in self._messages if not other.is_done()]
        self._messages.append(work)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """A barrier in which rank 0 names the rank that does not come in time, or all of them."""
        self._barriers += 1
        tag = _FIRST_TAG_OF_BARRIERS + self._barriers % _TAGS_OF_BARRIERS
        no_time = timeout is not None and completions.seconds(timeout) is None
        limit = completions.seconds(timeout) or self.timeout
        token = torch.zeros(1, dtype=torch.uint8)
        if self.rank() == 0:
            if no_time:
                raise TimedOut("[Rank 0]: Rank 0 timed out in monitoredBarrier after 0 ms")
            self._meet_all(tag, limit, wait_all_ranks)
            for rank in range(1, self.size()):
                self.send([token], rank, tag)
            return
        self.send([token], 0, tag)
        try:
            self.recv([token], 0, tag).wait(timedelta(seconds=limit))
        except RuntimeError as error:
            mine = self.rank()
            raise type(error)(
                f"[Rank {mine}]: Rank {mine} successfully reached monitoredBarrier, but received "
                f"errors while waiting for send/recv from rank 0. {error}") from None

    def _meet_all(self, tag, limit, wait_all_ranks):
        works = {rank: self.recv([torch.zeros(1, dtype=torch.uint8)], rank, tag)
                 for rank in range(1, self.size())}
        deadline = time.monotonic() + limit
        missing, why = [], ""
        for rank, work in works.items():
            try:
                work.wait(timedelta(seconds=max(0.001, deadline - time.monotonic())))
            except RuntimeError as error:
                missing.append(str(rank))
                why = why or str(error)
                if not wait_all_ranks:
                    break
        if missing:
            ranks = f"Rank{'s' * (len(missing) > 1)} {', '.join(missing)}"
            raise TimedOut(f"[Rank 0]: {ranks} failed to pass monitoredBarrier in "
                           f"{limit * 1000:g} ms. {why}")
