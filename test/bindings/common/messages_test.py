# SPDX-License-Identifier: Apache-2.0
"""Messages, process sets of their members, and deadlines, as horovodpp._core has them."""
import pytest
import torch

from horovodpp import _core
from horovodpp.torch.dtypes import describe

WHOLE = _core.ProcessSet()


def send(tensor, to, tag=0, process_set=WHOLE):
    return _core.send(describe(tensor), to, tag, process_set)


def receive(tensor, source, tag=0, process_set=WHOLE):
    return _core.receive(describe(tensor), source, tag, process_set)


@pytest.mark.parametrize("count", [0, 1, 5000, 300000])
def test_messages_go_round(rank, size, count):
    mine = torch.full((count,), float(rank))
    theirs = torch.full((count,), -1.0)
    previous = (rank - 1) % size
    sent = send(mine, (rank + 1) % size, count)
    received = receive(theirs, previous, count)
    assert received.wait(60) == previous
    assert received.source() == previous
    assert (theirs == previous).all()
    assert sent.wait() is None


def test_any_source_names_the_sender(rank, size):
    mine = torch.tensor([rank])
    sent = send(mine, 0, 5)
    if rank == 0:
        sources = set()
        for _ in range(size):
            number = torch.tensor([-1])
            received = receive(number, -1, 5)
            assert received.wait() == number.item()
            sources.add(received.source())
        assert sources == set(range(size))
    sent.wait()


def test_a_message_of_another_dtype_is_an_error_of_both(rank):
    mine, theirs = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    sent = send(mine, rank, 1)
    received = receive(theirs, rank, 1)
    for operation in (sent, received):
        with pytest.raises(ValueError, match="sent 8 bytes of float32"):
            operation.wait()


def test_a_wait_times_out_and_may_be_repeated(rank):
    number = torch.zeros(1)
    received = receive(number, rank, 2)
    with pytest.raises(ValueError, match="not done"):
        received.source()
    for _ in range(2):
        with pytest.raises(TimeoutError, match="Timed out after 0.01 s: rank .* tag 2 from rank"):
            received.wait(0.01)
    one = torch.ones(1)
    sent = send(one, rank, 2)
    assert received.wait(60) == rank
    sent.wait()
    assert number.item() == 1


def test_a_deadline_names_the_missing_rank(rank, size):
    if size == 1:
        return
    token = torch.zeros(1)
    if rank == 0:
        barrier = _core.barrier(WHOLE)
        with pytest.raises(TimeoutError, match="Timed out after .*barrier.* not rank 1 "):
            barrier.wait(0.2)
        send(token, 1).wait()
    else:
        if rank == 1:
            receive(token, 0).wait()
        barrier = _core.barrier(WHOLE)
    barrier.wait(60)


def test_members_alone_create_and_free_their_sets(rank, size):
    members = [other for other in range(size) if other % 2 == rank % 2]
    first, second = (_core.new_process_set(members, key) for key in "ab")
    assert first.id != second.id
    for process_set in (first, second):
        assert _core.ranks_of(process_set) == members
        number = torch.ones(1)
        _core.allreduce_(describe(number), "of some", 1, 1.0, 1.0, process_set).wait()
        assert number.item() == len(members)
        _core.free_process_set(process_set).wait()
    with pytest.raises(ValueError):
        _core.ranks_of(first)
    if size > 1:
        with pytest.raises(ValueError, match="not a member"):
            _core.new_process_set([(rank + 1) % size], "a")
    _core.barrier(WHOLE).wait()
