# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks, groups of some ranks, device meshes, and barriers with a limit."""
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

import horovodpp.torch as hvd


def ring(rank, size):
    return (rank + 1) % size, (rank - 1) % size


# --- Messages ---

@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
@pytest.mark.parametrize("count", [0, 1, 5, 300_000])
def test_messages_go_around_a_ring(dtype, count, rank, size):
    after, before = ring(rank, size)
    received = torch.zeros(count, dtype=dtype)
    works = [dist.isend(torch.full((count,), rank + 1).to(dtype), after),
             dist.irecv(received, before)]
    for work in works:
        work.wait()
    assert torch.equal(received, torch.full((count,), before + 1).to(dtype))


def test_small_messages_do_not_wait_for_their_receiver(rank, size):
    if size == 1:
        pytest.skip("torch refuses to send to the rank itself")
    after, before = ring(rank, size)
    for number in range(3):
        dist.send(torch.full((4,), float(rank + number)), after)
    for number in range(3):
        received = torch.zeros(2, 2).t()
        dist.recv(received, before)
        assert received.eq(before + number).all()


def test_tags_tell_messages_apart(rank, size):
    after, before = ring(rank, size)
    sends = [dist.isend(torch.full((1,), float(tag)), after, tag=tag) for tag in (1, 2, 3)]
    for tag in (3, 1, 2):
        received = torch.zeros(1)
        dist.recv(received, before, tag=tag)
        assert received.item() == tag
    for work in sends:
        work.wait()


def test_a_receive_from_any_rank_tells_the_source(rank, size):
    if rank:
        dist.send(torch.full((2,), float(rank)), 0)
    else:
        seen = set()
        for _ in range(size - 1):
            received = torch.zeros(2)
            source = dist.recv(received)
            assert received.eq(source).all()
            seen.add(source)
        assert seen == set(range(1, size))
    dist.barrier()


def test_batches_of_messages(rank, size):
    after, before = ring(rank, size)
    received = torch.zeros(3)
    for work in dist.batch_isend_irecv([
            dist.P2POp(dist.isend, torch.full((3,), float(rank)), after),
            dist.P2POp(dist.irecv, received, before)]):
        work.wait()
    assert received.eq(before).all()


def test_messages_of_a_gpu_go_through_host_memory(rank, size, monkeypatch):
    """CPU tensors that say that they are on a GPU: the copies are the code of a GPU's tensors."""
    from horovodpp.torch.backend import memory
    monkeypatch.setattr(memory, "is_on_gpu", lambda tensor: True)
    after, before = ring(rank, size)
    for count in (3, 100_000):
        sent, received = torch.full((2, count), float(rank)), torch.zeros(count, 2).t()
        works = [dist.isend(sent, after), dist.irecv(received, before)]
        sent.fill_(-1)  # A copy was sent.
        for work in works:
            work.wait()
        assert received.eq(before).all()


def test_objects_as_messages(rank, size):
    if size == 1:
        pytest.skip("needs two ranks")
    if rank == 0:
        dist.send_object_list([{"a": 1}, "b"], dst=1)
    elif rank == 1:
        objects = [None, None]
        dist.recv_object_list(objects, src=0)
        assert objects == [{"a": 1}, "b"]


# --- Groups ---

def sum_in(group, value):
    tensor = torch.tensor([float(value)])
    dist.all_reduce(tensor, group=group)
    return tensor.item()


def test_members_alone_use_a_group(rank, size):
    evens = dist.new_group(list(range(0, size, 2)))
    if rank % 2 == 0:
        assert sum_in(evens, rank) == sum(range(0, size, 2))
        tensor = torch.tensor([float(rank)])
        dist.broadcast(tensor, dist.get_global_rank(evens, dist.get_world_size(evens) - 1), evens)
        assert tensor.item() == max(range(0, size, 2))
        dist.barrier(evens)
    assert dist.get_rank(evens) == (-1 if rank % 2 else rank // 2)
    dist.destroy_process_group(evens)


def test_groups_of_the_same_ranks_do_not_meet(rank, size):
    groups = [dist.new_group() for _ in range(2)]
    order = groups if rank % 2 else groups[::-1]
    works = {}
    for group in order:
        tensor = torch.tensor([float(groups.index(group))])
        works[group] = (dist.all_reduce(tensor, group=group, async_op=True), tensor)
    for number, group in enumerate(groups):
        works[group][0].wait()
        assert works[group][1].item() == number * size
    after, before = ring(rank, size)
    sends = [dist.isend(torch.tensor([float(number)]), after, group=group)
             for number, group in enumerate(groups)]
    for number in (1, 0):
        received = torch.zeros(1)
        dist.recv(received, before, group=groups[number])
        assert received.item() == number
    for work in sends:
        work.wait()


def test_a_group_that_its_members_create(rank, size):
    pair = [size - 1] if size == 1 else [0, size - 1]
    if rank in pair:
        group = dist.new_group(pair, use_local_synchronization=True)
        assert sum_in(group, rank) == size - 1


def test_a_destroyed_group_is_freed_once_all_members_have_ended_it(rank, size):
    if size < 3:
        pytest.skip("needs a group of some ranks, and a rank that ends it first")
    from horovodpp import _core
    members = list(range(size - 1))
    dist.barrier()  # All ranks know the sets of earlier tests,
    before = len(_core.process_sets())
    dist.barrier()  # and no rank knows that of this test.
    group = dist.new_group(members)
    dist.barrier()
    assert len(_core.process_sets()) == before + 1
    if rank == 0:
        dist.destroy_process_group(group)
    dist.barrier()
    assert len(_core.process_sets()) == before + 1
    dist.barrier()
    if rank in members[1:]:
        dist.destroy_process_group(group)
    while len(_core.process_sets()) != before:
        time.sleep(0.001)
    again = dist.new_group(members)
    if rank in members:
        assert sum_in(again, 1) == len(members)
        dist.destroy_process_group(again)


def test_a_group_is_split(rank, size, world):
    halves = [list(range(size // 2)), list(range(size // 2, size))]
    mine = halves[rank >= size // 2]
    group = world.split_group(mine, timeout=timedelta(seconds=60), group_desc="half")
    assert (group.rank(), group.size(), group.group_desc) == (mine.index(rank), len(mine), "half")
    tensor = torch.ones(1)
    group.allreduce([tensor]).wait()
    assert tensor.item() == len(mine)
    assert world.split_group([(rank + 1) % size]) is None or size == 1


def test_a_process_set_may_have_the_ranks_of_a_group(rank, size):
    if size < 3:
        pytest.skip("needs a group of some ranks")
    members = [0, size - 1]
    groups = [dist.new_group(members) for _ in range(2)]
    made = hvd.add_process_set(members)
    if rank in members:
        assert hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=made).item() == 2
        assert [sum_in(group, rank) for group in groups] == [size - 1] * 2
    hvd.remove_process_set(made)
    if rank in members:
        assert sum_in(groups[0], 1) == 2
    for group in groups:
        dist.destroy_process_group(group)


def test_a_mesh_of_two_dimensions(rank, size):
    if size % 2:
        pytest.skip("needs an even number of ranks")
    mesh = dist.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("rows", "columns"))
    row = rank // (size // 2)
    assert sum_in(mesh.get_group("columns"), 1) == size // 2
    assert sum_in(mesh.get_group("rows"), row) == 1
    if hasattr(mesh, "_flatten"):  # Not in torch 2.4.
        assert sum_in(mesh._flatten("all").get_group(), 1) == size


# --- Limits of time ---

def test_a_barrier_has_a_limit(rank, size):
    if size == 1:
        pytest.skip("needs two ranks")
    group = dist.new_group(timeout=timedelta(milliseconds=200))
    if rank == 0:
        with pytest.raises(RuntimeError, match=r" Timed out .*rank 1 \(host"):
            dist.barrier(group)
    dist.barrier()
    if rank:
        dist.barrier(group)  # The barrier of rank 0 is in flight.
    dist.barrier()


def test_futures_have_a_limit(rank, size):
    if size == 1:
        pytest.skip("needs two ranks")
    group = dist.new_group(timeout=timedelta(milliseconds=200))
    if rank == 0:
        future = dist.all_reduce(torch.ones(1), group=group, async_op=True).get_future()
        with pytest.raises(RuntimeError, match=" Timed out "):
            future.wait()
    dist.barrier()
    if rank:
        dist.all_reduce(torch.ones(1), group=group)  # That of rank 0 is in flight.
    dist.barrier()


def test_a_monitored_barrier_names_the_missing(rank, size, world):
    world.monitored_barrier(timedelta(seconds=60))
    if size == 1:
        pytest.skip("needs two ranks")
    limit = timedelta(milliseconds=200)
    if rank == 0:
        with pytest.raises(RuntimeError, match="Ranks? 1.* failed to pass monitoredBarrier"):
            world.monitored_barrier(limit, wait_all_ranks=True)
    dist.barrier()
    if rank:
        world._barriers += 1
        from horovodpp.torch.backend.messages import _FIRST_TAG_OF_BARRIERS
        token = torch.zeros(1, dtype=torch.uint8)  # For which rank 0 still waits.
        world.send([token], 0, _FIRST_TAG_OF_BARRIERS + world._barriers)
    world.monitored_barrier(timedelta(seconds=60))
