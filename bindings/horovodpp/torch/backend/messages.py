# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks of a group: send, receive, receive from any rank."""
import zlib

from horovodpp import _core
from horovodpp.torch.backend import memory
from horovodpp.torch.backend.work import Done, Work

_ANY = -1
# A message of so many bytes is copied, and its sender does not wait for the receiver: programs
# that send to each other first, and then receive, rely on that.
_COPIED_BYTES = 64 << 10
_TAG_BITS = 20


def first_tag_of(name, is_alone):
    """What a group adds to its tags, if it shares a process set with other groups."""
    return 0 if is_alone else (1 + zlib.crc32(name.encode()) % 1023) << _TAG_BITS


class _Receive(Work):
    """The work of a receive, which tells its source."""

    def __init__(self, group, operation, tensor, staged):
        def finish(rank):
            self._source = group.ranks.index(rank)
            if staged is not tensor:
                tensor.copy_(staged)

        super().__init__(operation, group.timeout, [tensor], finish, staged)

    def _source_rank(self):
        self.wait()
        return self._source


class Messages:
    """A part of ProcessGroup."""

    def send(self, tensors, to_rank, tag=0):
        tensor, = tensors
        staged = memory.dense(tensor)
        is_copied = staged.is_cpu and staged.nbytes <= _COPIED_BYTES
        if is_copied and staged is tensor:
            staged = tensor.clone()
        operation = _core.send(memory.described_moved(staged), self.ranks[to_rank],
                               self._first_tag + tag, self.core)
        work = self._keep_message(Work(operation, self.timeout, list(tensors), None, staged))
        return Done(tensors) if is_copied else work

    def recv(self, tensors, from_rank, tag=0):
        return self._receive(tensors, self.ranks[from_rank], tag)

    def recv_anysource(self, tensors, tag=0):
        return self._receive(tensors, _ANY, tag)

    def _receive(self, tensors, from_rank, tag):
        tensor, = tensors
        staged = memory.dense(tensor)
        operation = _core.receive(memory.described_moved(staged), from_rank,
                                  self._first_tag + tag, self.core)
        return self._keep_message(_Receive(self, operation, tensor, staged))

    def _keep_message(self, work):
        """Keeps the memory of messages in flight, which end in any order."""
        self._messages = [other for other in self._messages if not other.is_done()]
        self._messages.append(work)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work
