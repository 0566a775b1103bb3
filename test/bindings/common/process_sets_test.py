# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import horovodpp.torch as hvd

COLLECTIVES = {
    "Allreduce": lambda t, s: hvd.allreduce(t, process_set=s),
    "Allgather": lambda t, s: hvd.allgather(t, process_set=s),
    "Broadcast": lambda t, s: hvd.broadcast(t, 0, process_set=s),
    "Alltoall": lambda t, s: hvd.alltoall(t, process_set=s),
    "Reducescatter": lambda t, s: hvd.reducescatter(t, process_set=s),
    "Barrier": lambda _, s: hvd.barrier(process_set=s),
    "Join": lambda _, s: hvd.join(process_set=s),
}


def test_the_global_set_holds_all(rank, size):
    whole = hvd.global_process_set
    assert whole.process_set_id == 0
    assert whole.ranks == list(range(size))
    assert (whole.size(), whole.rank(), whole.included()) == (size, rank, True)
    assert str(whole) == f"ProcessSet(process_set_id=0, ranks={whole.ranks}, mpi_comm=None)"
    assert not hvd.remove_process_set(whole)


def test_needs_a_list_of_ranks():
    assert hvd.ProcessSet([2, 0, 1]).ranks == [0, 1, 2]
    assert hvd.ProcessSet(torch.tensor([1, 0])).ranks == [0, 1]
    for wrong in (3, "01", [0.5], None):
        with pytest.raises(ValueError, match="list of process ranks or an mpi4py Comm"):
            hvd.ProcessSet(wrong)

    class Communicator:
        def Get_size(self):
            return 2

    with pytest.raises(ValueError, match="tried to build a ProcessSet from an MPI communicator"):
        hvd.ProcessSet(Communicator())


def test_cannot_be_used_before_it_is_added():
    unknown = hvd.ProcessSet([0])
    assert unknown.process_set_id is None
    assert unknown.size() is None and unknown.rank() is None
    assert not hvd.remove_process_set(unknown)
    for collective in COLLECTIVES.values():
        with pytest.raises(TypeError, match="add it first, with hvd.add_process_set"):
            collective(torch.ones(4), unknown)
        with pytest.raises(TypeError, match=r"\[0, 1\] is no process set: give what"):
            collective(torch.ones(4), [0, 1])


def test_refuses_a_set_that_exists(size):
    with pytest.raises(ValueError, match="Attempted to add a duplicate process set"):
        hvd.add_process_set(list(range(size)))


def test_refuses_ranks_that_do_not_exist(size):
    with pytest.raises(ValueError, match=str(size)):
        hvd.add_process_set([0, size])


def test_reduces_among_its_members(rank, pair):
    mean = torch.tensor([float(rank)])
    if pair.included():
        assert pair.rank() == rank and pair.size() == 2
        assert hvd.allreduce(mean, process_set=pair).item() == 0.5
        assert hvd.allgather(mean, process_set=pair).tolist() == [0, 1]
        assert hvd.broadcast(mean, 1, process_set=pair).item() == 1
        assert hvd.alltoall(torch.full((2,), rank), process_set=pair).tolist() == [0, 1]
        assert hvd.reducescatter(torch.ones(2), op=hvd.Sum, process_set=pair).tolist() == [2]
        assert hvd.broadcast_object(("of", rank), 1, process_set=pair) == ("of", 1)
        hvd.barrier(process_set=pair)
        assert hvd.join(process_set=pair) in (0, 1)
        with pytest.raises(ValueError, match="invalid root rank 2 for provided process set"):
            hvd.broadcast(mean, 2, process_set=pair)
    else:
        with pytest.raises(ValueError, match="Process is not part of provided process set"):
            pair.rank()


def test_nonmembers_are_refused(rank, pair):
    if pair.included():
        return
    for name, collective in COLLECTIVES.items():
        with pytest.raises(ValueError, match=f"^{name}: Rank {rank} is not a member of the "
                                             "provided process set"):
            collective(torch.ones(4), pair)


def test_cannot_be_used_when_it_is_removed(size):
    if size == 1:
        pytest.skip("one rank has no set beside the global one")
    first = hvd.add_process_set([0])
    assert hvd.add_process_set(hvd.ProcessSet([1])).included() == (hvd.rank() == 1)
    assert hvd.remove_process_set(first)
    assert first.process_set_id is None
    assert not hvd.remove_process_set(first)
    with pytest.raises(TypeError, match=r"hvd.remove_process_set\(\) has removed it; add it again"):
        hvd.allreduce(torch.ones(1), process_set=first)


@pytest.fixture(autouse=True)
def no_sets_are_left():
    yield
    from horovodpp.common import process_sets
    for made in list(process_sets._known.values()):
        hvd.remove_process_set(made)
