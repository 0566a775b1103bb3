# SPDX-License-Identifier: Apache-2.0
import pathlib
import tempfile

import models
import pytest
import torch

import horovodpp.torch as hvd


@pytest.fixture
def folder(rank):
    """One folder for all ranks."""
    with tempfile.TemporaryDirectory() as own:
        yield pathlib.Path(hvd.broadcast_object(own if rank == 0 else None, 0))
        hvd.barrier()


def trained(seed):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    optimizer = hvd.DistributedOptimizer(torch.optim.Adam(model.parameters(), lr=0.1),
                                         model.named_parameters())
    state = hvd.elastic.TorchState(
        model, optimizer, sampler=hvd.elastic.ElasticSampler(range(20)), step=0,
        best=None, history=[0.5, (1, "two")])
    return model, optimizer, state


def train(model, optimizer, state, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.full((8, 4), float(state.step)) + torch.arange(8).reshape(8, 1)
        model(x).square().mean().backward()
        optimizer.step()
        state.step += 1
        state.history.append(state.step)
        state.end_step()


def test_a_training_goes_on_from_the_newest(folder):
    model, optimizer, state = trained(seed=1)
    snapshots = hvd.elastic.Snapshots(folder, share_of_time=1)
    assert snapshots.load(state) is None
    for step in 1, 2, 3:
        train(model, optimizer, state, 2)
        state.sampler.record_batch(0, 1)
        snapshots.save(state, step)
        snapshots.finish()
    hvd.barrier()
    assert len(list(folder.iterdir())) == 2
    other, its_optimizer, its_state = trained(seed=2)
    assert hvd.elastic.Snapshots(folder).load(its_state) == 3
    assert its_state.step == 6 and its_state.history == state.history
    assert its_state.best is None
    assert its_state.sampler.processed_num == state.sampler.processed_num
    # Both go on alike, the optimizer's state included.
    train(model, optimizer, state, 2)
    train(other, its_optimizer, its_state, 2)
    for mine, its in zip(model.state_dict().values(), other.state_dict().values()):
        assert torch.equal(mine, its)
    assert snapshots.stats()["begun"] == 3 and snapshots.stats()["failed"] == 0


def test_a_host_keeps_whole_snapshots(folder):
    model, optimizer, state = trained(seed=1)
    snapshots = hvd.elastic.Snapshots(folder, share_of_time=1, each_host=True)
    train(model, optimizer, state, 2)
    snapshots.save(state, 1)
    snapshots.finish()
    hvd.barrier()
    _, _, its_state = trained(seed=2)
    assert hvd.elastic.Snapshots(folder, each_host=True).load(its_state) == 1
    assert its_state.step == 2


def test_a_snapshot_may_hold_all_types_of_tensors(folder):
    values = [torch.arange(6, dtype=dtype).reshape(2, 3)[:, 1:] for dtype in
              (torch.int64, torch.uint8, torch.float16, torch.bfloat16, torch.float64)]
    values += [torch.tensor(True), torch.empty(0, 3), torch.tensor(2.5)]
    state = hvd.elastic.TorchState(models.mlp(), values=values)
    snapshots = hvd.elastic.Snapshots(folder)
    snapshots.save(state, 0)
    snapshots.finish()
    hvd.barrier()
    state.values = None
    assert snapshots.load(state) == 0
    for value, loaded in zip(values, state.values):
        assert loaded.dtype == value.dtype and torch.equal(loaded, value)


def test_other_values_are_refused(folder):
    state = hvd.elastic.TorchState(models.mlp(), odd={"x": {1, 2}})
    with pytest.raises(TypeError, match=r"'state\.values\.odd\.x' is a set"):
        hvd.elastic.Snapshots(folder).save(state, 1)


def test_a_newcomer_loads_nothing(folder):
    state = hvd.elastic.TorchState(models.mlp())
    state._has_state = False
    assert hvd.elastic.Snapshots(folder).load(state) is None


def test_mistakes_are_errors(folder):
    with pytest.raises(ValueError, match="share in"):
        hvd.elastic.Snapshots(folder, share_of_time=0)
    file = folder / "file"
    file.write_text("x")
    with pytest.raises(OSError, match="file/x"):
        hvd.elastic.Snapshots(file / "x")
