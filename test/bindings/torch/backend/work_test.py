# SPDX-License-Identifier: Apache-2.0
"""Works and futures: of operations in flight, done, failed, and of several threads."""
import threading

import pytest
import torch
import torch.distributed as dist

import horovodpp.torch as hvd


def test_many_operations_alike_may_be_in_flight(rank, size):
    tensors = [torch.full((1 + number % 2,), float(number)) for number in range(40)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    assert [tensor[0].item() for tensor in tensors] == [size * number for number in range(40)]


def test_results_arrive_without_a_wait(rank, size):
    output = torch.zeros(size)
    work = dist.all_gather_into_tensor(output, torch.ones(1), async_op=True)
    while not work.is_completed():
        pass
    assert work.is_success() and output.tolist() == [1.0] * size


def test_a_dropped_work_goes_on(rank, size):
    tensor = torch.ones(1000)
    dist.all_reduce(tensor, async_op=True)
    dist.all_reduce(torch.ones(1000), async_op=True)
    dist.barrier()
    dist.all_reduce(torch.ones(1))


def test_futures_complete_by_themselves(rank, size):
    came = threading.Event()
    future = dist.all_reduce(torch.full((3,), float(rank)), async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    doubled.add_done_callback(lambda _: came.set())
    assert came.wait(60)
    assert doubled.value().tolist() == [float(size * (size - 1))] * 3


def test_a_callback_may_wait_for_another_collective(rank, size):
    def again(done):
        tensor = done.value()[0]
        return dist.all_reduce(tensor, async_op=True).get_future().wait()[0]

    future = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(again)
    assert future.wait().tolist() == [float(size * size)] * 2


def test_a_mismatch_is_an_error_and_the_group_goes_on(rank, size, world):
    if size == 1:
        pytest.skip("needs two ranks")
    tensor = torch.ones(2)
    from horovodpp.torch.backend import memory
    from horovodpp import _core
    # The same call of all ranks, which the library finds to differ.
    described = memory.described(tensor[:1 + rank % 2])
    opts = dist.AllreduceOptions()
    work = world._run(("mismatch",), lambda name: _core.allreduce_(
        described, name, 1, 1.0, 1.0, world.core), opts, [tensor])
    with pytest.raises(hvd.InvalidCallError, match="ranks disagree"):
        work.wait()
    assert work.exception() is not None and not work.is_success()
    dist.barrier()


def test_a_failed_future_carries_the_error(rank, size, world):
    if size == 1:
        pytest.skip("needs two ranks")
    from horovodpp.torch.backend import memory
    from horovodpp import _core
    tensor = torch.ones(2)
    described = memory.described(tensor[:1 + rank % 2])
    work = world._run(("mismatch",), lambda name: _core.allreduce_(
        described, name, 1, 1.0, 1.0, world.core), dist.AllreduceOptions(), [tensor])
    with pytest.raises(Exception, match="ranks disagree"):
        work.get_future().wait()
    dist.barrier()


def test_an_optimizer_of_hvd_trains_beside_the_group(rank, size):
    model = torch.nn.Linear(2, 1, bias=False)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                         model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    before = model.weight.detach().clone()
    loss = model(torch.full((1, 2), float(rank))).sum()
    dist.all_reduce(loss.detach())
    loss.backward()
    work = dist.all_reduce(torch.ones(1), async_op=True)
    optimizer.step()
    work.wait()
    torch.testing.assert_close(model.weight.detach(), before - (size - 1) / 2)


def test_the_profiler_sees_the_calls(rank, size):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        dist.all_reduce(torch.ones(1))
        works = [dist.broadcast(torch.ones(1), 0, async_op=True) for _ in range(2)]
        for work in works:
            work.wait()
    seen = [event.name for event in profile.events()]
    assert seen.count("horovodpp:all_reduce") == 1
    assert seen.count("horovodpp:broadcast") == 2
