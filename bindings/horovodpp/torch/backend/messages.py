# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks of a group: send, receive, receive from any rank."""
from horovodpp import _core
from horovodpp.torch.backend import memory
from horovodpp.torch.backend.work import Work

_ANY = -1


class _Received(Work):
    """The work of a receive, which tells its source."""

    def __init__(self, group, *arguments):
        super().__init__(*arguments)
        self._operation_of_source = self.operation
        self._group = group

    def _source_rank(self):
        self.wait()
        return self._group.ranks.index(self._operation_of_source.source())


class Messages:
    """A part of ProcessGroup."""

    def send(self, tensors, to_rank, tag=0):
        tensor, = tensors
        staged = memory.dense(tensor)
        operation = _core.send(memory.described_moved(staged), self.ranks[to_rank], tag, self.core)
        return self._keep_message(Work(operation, self.timeout, list(tensors), None, staged))

    def recv(self, tensors, from_rank, tag=0):
        return self._receive(tensors, self.ranks[from_rank], tag)

    def recv_anysource(self, tensors, tag=0):
        return self._receive(tensors, _ANY, tag)

    def _receive(self, tensors, from_rank, tag):
        tensor, = tensors
        staged = memory.dense(tensor)
        operation = _core.receive(memory.described_moved(staged), from_rank, tag, self.core)
        finish = staged is not tensor and (lambda _: tensor.copy_(staged))
        return self._keep_message(_Received(self, operation, self.timeout, list(tensors), finish,
                                            staged))

    def _keep_message(self, work):
        """Keeps the memory of messages in flight, which end in any order."""
        self._messages = [other for other in self._messages if not other.is_done()]
        self._messages.append(work)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work
