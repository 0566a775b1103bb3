# SPDX-License-Identifier: Apache-2.0
import models
import pytest
import torch

import horovodpp.torch as hvd
from horovodpp.torch.elastic import state as state_module
from horovodpp.torch.elastic.steps import furthest


def normed():
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))


def step_of(model, optimizer):
    optimizer.zero_grad()
    model(torch.rand(8, 4)).square().mean().backward()
    optimizer.step()


def test_a_step_that_was_not_applied_is_undone():
    model = normed()
    optimizer = hvd.DistributedOptimizer(models.sgd(model), model.named_parameters())
    sampler = hvd.elastic.ElasticSampler(range(20))
    state = hvd.elastic.TorchState(model, optimizer, sampler=sampler, step=0)
    step_of(model, optimizer)
    state.step = 1
    state.end_step()
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    random = torch.rand(1).item()
    torch.rand(5)
    model(torch.rand(8, 4))
    sampler.record_batch(0, 1)
    state.step = 7
    state.restore()
    assert state.step == 1 and sampler.processed_num == 0
    for name, value in model.state_dict().items():
        assert torch.equal(value, expected[name])
    assert torch.rand(1).item() == random


def test_a_step_applied_beyond_the_boundary_goes_back_to_the_commit():
    model = normed()
    optimizer = hvd.DistributedOptimizer(models.sgd(model), model.named_parameters())
    state = hvd.elastic.TorchState(model, optimizer, step=0)
    committed = model[0].weight.clone()
    state.end_step()
    step_of(model, optimizer)
    assert not torch.equal(model[0].weight, committed)
    state.restore()
    assert torch.equal(model[0].weight, committed) and state.step == 0


def test_the_furthest_rank_gives_its_state(rank, size):
    assert furthest(3) == (0, True)
    root, all_have_it = furthest(5 if rank == size - 1 else 4)
    assert (root, all_have_it) == (size - 1, size == 1)
    root, all_have_it = furthest(-1 if rank == 0 else 4)
    assert (root, all_have_it) == ((-1, False) if size == 1 else (1, False))


def test_a_rank_behind_takes_the_state_of_one_ahead(rank, size):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    state = hvd.elastic.TorchState(model, optimizer, step=0)
    state.sync()
    state.end_step()
    if rank == size - 1:
        with torch.no_grad():
            model[0].weight.fill_(7)
        state.step = 1
        state._version += 1
        state._begin_step()
    state.sync()
    assert state.step == 1 and torch.all(model[0].weight == 7)
    assert state._version == 2


def test_a_state_that_arrives_in_part_changes_nothing(rank, size, monkeypatch):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    state = hvd.elastic.TorchState(model, optimizer, step=0)
    state.sync()
    state.end_step()
    before = model[0].weight.clone()
    is_ahead = rank == size - 1
    if is_ahead:
        with torch.no_grad():
            model[0].weight.fill_(7)
        state._version += 1
        state._begin_step()

    def fail(*args):
        raise hvd.HorovodInternalError("a rank is lost")

    if size > 1:
        # The last part of the state.
        with monkeypatch.context() as patch:
            patch.setattr(state_module, "broadcast_object", fail)
            with pytest.raises(hvd.HorovodInternalError):
                state.sync()
        state.restore()
        assert state._version == (2 if is_ahead else 1)
        assert is_ahead or torch.equal(model[0].weight, before)
    state.sync()
    assert torch.all(model[0].weight == 7) and state._version == 2


def test_equal_versions_move_nothing(rank):
    state = hvd.elastic.TorchState(models.mlp(), step=0)
    state.sync()
    state.end_step()
    state.step = rank  # Would be overwritten.
    state.sync()
    assert state.step == rank


def test_newcomers_alone_have_no_state():
    state = hvd.elastic.TorchState(models.mlp(), step=0)
    state._has_state = False
    with pytest.raises(RuntimeError, match="all ranks that had the state"):
        state.sync()
