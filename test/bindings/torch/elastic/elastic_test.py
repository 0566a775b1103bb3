# SPDX-License-Identifier: Apache-2.0
import math

import models
import pytest
import torch

import horovodpp.torch as hvd
from horovodpp import _core
from horovodpp.common.elastic import run_fn
from horovodpp.common.process_sets import core_of
from horovodpp.torch.elastic import state as states


def test_objects_are_saved_restored_and_synchronized(rank):
    state = hvd.elastic.ObjectState(epoch=rank, seen=[rank])
    state.sync()
    assert (state.epoch, state.seen) == (0, [0])
    state.epoch, state.seen = 5, [1, 2]
    state.commit()
    state.epoch = 6
    state.seen.append(3)
    state.restore()
    assert (state.epoch, state.seen) == (5, [1, 2])


def test_models_optimizers_and_samplers_are_too(rank):
    model = models.mlp()
    optimizer = models.sgd(model)
    sampler = hvd.elastic.ElasticSampler(range(20))
    state = hvd.elastic.TorchState(model, optimizer, sampler=sampler, epoch=3)
    assert state.model is model and state.optimizer is optimizer and state.epoch == 3
    with torch.no_grad():
        model[0].weight.fill_(rank + 1)
    state.sync()
    assert torch.all(model[0].weight == 1)
    models.loss_of(model, models.batch_of(0)).backward()
    optimizer.step()
    sampler.record_batch(0, 1)
    state.epoch = 4
    state.restore()
    assert torch.all(model[0].weight == 1) and state.epoch == 3
    assert not optimizer.state_dict()["state"] and sampler.processed_num == 0
    optimizer.step()
    state.save()
    with torch.no_grad():
        model[0].weight.zero_()
    state.restore()
    assert not torch.all(model[0].weight == 0)


def test_an_assigned_model_is_saved():
    state = hvd.elastic.TorchState(models.mlp())
    other = models.mlp()
    with torch.no_grad():
        other[0].weight.fill_(7)
    state.model = other
    with torch.no_grad():
        other[0].weight.fill_(8)
    state.restore()
    assert torch.all(state.model[0].weight == 7)


def test_handlers_can_be_added():
    class Counter:
        count = 0

    class CounterHandler(states.StateHandler):
        def save(self):
            self.kept = self.value.count

        def restore(self):
            self.value.count = self.kept

        def sync(self):
            self.value.count = hvd.broadcast_object(self.value.count)
            self.save()

    before = states.get_handler_registry()
    states.set_handler_registry([*before, (Counter, CounterHandler)])
    try:
        state = hvd.elastic.TorchState(counter=Counter())
        state.counter.count = hvd.rank()
        state.sync()
        assert state.counter.count == 0
    finally:
        states.set_handler_registry(before)


@pytest.mark.parametrize("update, skips", [(1, True), (2, False), (3, False)])
def test_ranks_hear_of_hosts_together(update, skips, rank):
    state = hvd.elastic.ObjectState(epoch=0)
    state.commit()
    if rank == 0:
        state.on_hosts_updated(1, update)
    with pytest.raises(hvd.HostsUpdatedInterrupt) as interrupt:
        state.commit()
    assert interrupt.value.skip_sync is skips
    state.commit()
    assert state._last_updated_timestamp == 1


def test_goes_on_from_a_commit(rank, size):
    resets = []

    @hvd.elastic.run
    def train(state, last):
        while state.step < last:
            state.step += 1
            if state.step == 3 and not resets:
                raise hvd.HorovodInternalError("a rank was lost")
            state.commit()
        return hvd.allreduce(torch.tensor(float(state.step))).item()

    state = hvd.elastic.ObjectState(step=0)
    state.register_reset_callbacks([lambda: resets.append(hvd.size())])
    assert train(state, 5) == 5.0
    assert resets == [size]


def test_gradients_on_their_way_are_dropped_with_their_job(size):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    begun = []

    @hvd.elastic.run
    def train(state):
        begun.append(hvd.size())
        optimizer.zero_grad()
        models.loss_of(model, models.batch_of(hvd.rank())).backward()
        if len(begun) == 1:
            raise hvd.HorovodInternalError("a rank was lost")
        optimizer.step()

    train(hvd.elastic.ObjectState(step=0))
    assert begun == [size, size]


@pytest.mark.parametrize("place", ["restore", "on_reset", "sync"])
def test_a_loss_on_the_way_back_is_another_one(place):
    came = []

    class State(hvd.elastic.ObjectState):
        def restore(self):
            super().restore()
            came_to("restore")

        def on_reset(self):
            super().on_reset()
            came_to("on_reset")

        def sync(self):
            super().sync()
            came_to("sync")

    def came_to(where):
        came.append(where)
        if where == place and len(came) > 1 and came.count(where) == (2 if place == "sync" else 1):
            raise hvd.HorovodInternalError("another rank was lost")

    @hvd.elastic.run
    def train(state):
        came.append("train")
        if came.count("train") == 1:
            raise hvd.HorovodInternalError("a rank was lost")

    train(State(step=0))
    back = ["restore", "on_reset", "sync"]
    assert came == ["sync", "train", *back[:back.index(place) + 1], *back, "train"]


def test_a_failed_reset_ends_the_training():
    def reset():
        raise hvd.HorovodInternalError("the ranks did not agree who is left")

    def train(state):
        raise hvd.HorovodInternalError("a rank was lost")

    with pytest.raises(hvd.HorovodInternalError, match="did not agree"):
        run_fn(train, reset)(hvd.elastic.ObjectState(step=0))


def test_a_mistake_of_the_program_is_made_once(rank, size):
    if size == 1:
        pytest.skip("one rank agrees with itself")
    begun = []

    @hvd.elastic.run
    def train(state):
        begun.append(hvd.rank())
        hvd.allreduce(torch.ones(2 + (rank > 0)), name="elastic.mismatch")

    with pytest.raises(hvd.InvalidCallError, match="elastic.mismatch"):
        train(hvd.elastic.ObjectState(step=0))
    assert begun == [rank]

    @hvd.elastic.run
    def train_with_a_wrong_argument(state):
        begun.append(hvd.rank())
        hvd.allreduce(torch.ones(2), prescale_factor=math.nan)

    with pytest.raises(ValueError, match="scale"):
        train_with_a_wrong_argument(hvd.elastic.ObjectState(step=0))
    assert begun == [rank, rank]


def run_once(func):
    """elastic.run, in which a restart is a failure."""
    return run_fn(func, reset=lambda: pytest.fail("it begins anew"))


def test_a_collective_after_shutdown_is_not_made_again():
    @run_once
    def train(state):
        hvd.shutdown()
        hvd.allreduce(torch.ones(2))

    with pytest.raises(hvd.InvalidCallError, match="shut down in this process; call hvd.init()"):
        train(hvd.elastic.ObjectState(step=0))
    hvd.init()


def test_a_collective_after_join_is_not_made_again(pair, rank):
    joined = []

    @run_once
    def train(state):
        if rank == 0:
            joined.append(_core.join(core_of(pair)))
            hvd.allreduce(torch.ones(2), process_set=pair)

    if rank == 0:
        with pytest.raises(hvd.InvalidCallError, match="has joined .*wait for its join"):
            train(hvd.elastic.ObjectState(step=0))
    else:
        train(hvd.elastic.ObjectState(step=0))
    hvd.barrier()  # Rank 1 joins later.
    # The last rank is the one whose join the coordinator receives last.
    if rank == 0:
        assert joined[0].wait() in (0, 1)
    elif rank == 1:
        assert hvd.join(process_set=pair) in (0, 1)


# --- ElasticSampler ---

def indices_of_all(sampler):
    return [index for part in hvd.allgather_object(list(sampler)) for index in part]


@pytest.mark.parametrize("length", [0, 1, 2, 7, 40])
def test_every_index_comes(length, size):
    sampler = hvd.elastic.ElasticSampler(range(length))
    indices = indices_of_all(sampler)
    assert set(indices) == set(range(length))
    assert len(sampler) == math.ceil(length / size) == len(list(sampler))
    assert len(indices) == sampler.total_size


def test_epochs_have_orders_of_their_own(size):
    sampler = hvd.elastic.ElasticSampler(range(100))
    first = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first
    sampler.set_epoch(0)
    assert list(sampler) == first
    straight = hvd.elastic.ElasticSampler(range(100), shuffle=False)
    assert list(straight)[0] == hvd.rank()


def test_goes_on_with_the_remaining_samples(size):
    sampler = hvd.elastic.ElasticSampler(range(10 * size))
    first = list(sampler)[:4]
    sampler.record_batch(0, 4)
    state = sampler.state_dict()
    assert state == {"epoch": 0, "processed_num": 4 * size}
    other = hvd.elastic.ElasticSampler(range(10 * size))
    other.load_state_dict(state)
    assert len(other) == 6
    seen = [i for part in hvd.allgather_object(first) for i in part]
    assert sorted(seen + indices_of_all(other)) == list(range(10 * size))
    assert other.processed_indices and len(other.remaining_indices) == 6 * size
