# SPDX-License-Identifier: Apache-2.0
"""Compressed gradients, with the library's compressors."""
import functools

import models
import pytest
import torch

import horovodpp.torch as hvd

EXCHANGERS = {"int8": hvd.Compression.int8, "top_k": functools.partial(hvd.Compression.top_k, 0.3),
              "deep": functools.partial(hvd.Compression.top_k, 0.3, momentum=0.5, warmup_steps=4,
                                        warmup_share=0.5, whole_below=5, max_norm=10.0),
              "signs": hvd.Compression.signs,
              "power_sgd": functools.partial(hvd.Compression.power_sgd, 1)}


def train(steps, rank, **options):
    """The losses of the first and of the last steps."""
    model = models.mlp()
    optimizer = models.named(model, torch.optim.SGD(model.parameters(), lr=0.1), **options)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = models.loss_of(model, models.batch_of(rank))
        loss.backward()
        optimizer.step()
        losses.append(hvd.allreduce(loss.detach(), name="loss").item())
    for p in model.parameters():
        assert torch.equal(hvd.broadcast(p.detach(), 0), p.detach())
    return losses


@pytest.mark.parametrize("groups", [None, 1])
@pytest.mark.parametrize("make", EXCHANGERS.values(), ids=EXCHANGERS)
def test_learns_as_without(make, groups, rank):
    plain = train(60, rank)
    compressed = train(60, rank, compression=make(), groups=groups)
    assert compressed[0] == plain[0]
    assert compressed[-1] < 0.2 * plain[0]


def test_int8_is_close_in_each_step(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    models.compare(models.mlp(), functools.partial(
        models.named, compression=hvd.Compression.int8(), gradient_predivide_factor=2.0), steps=2,
        tolerance=5e-3)


def test_omitted_values_are_sent_later(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    weight = torch.nn.Parameter(torch.zeros(4))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([weight], lr=1.0), [("weight", weight)],
        compression=hvd.Compression.top_k(0.25))
    seen = []
    for _ in range(2):
        optimizer.zero_grad()
        (weight * torch.tensor([4.0, 3.0, 0.0, 0.0])).sum().backward()
        optimizer.step()
        seen.append((-weight.detach()).tolist())
    assert seen == [[4, 0, 0, 0], [4, 6, 0, 0]]


@pytest.mark.parametrize("options, expected", [
    ({}, [[8, 0], [20, 0]]),
    ({"mask_velocity": True}, [[8, 0], [16, 0]]),
    ({"whole_below": 3}, [[8, 1], [20, 2.5]]),
    ({"warmup_steps": 1, "warmup_share": 1.0}, [[8, 1], [20, 1]])])
def test_velocities_are_sent(options, expected, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([weight], lr=1.0), [("weight", weight)],
        compression=hvd.Compression.top_k(0.5, momentum=0.5, **options))
    seen = []
    for _ in expected:
        optimizer.zero_grad()
        (weight * torch.tensor([8.0, 1.0])).sum().backward()
        optimizer.step()
        seen.append((-weight.detach()).tolist())
    assert seen == expected


@pytest.mark.parametrize("make", EXCHANGERS.values(), ids=EXCHANGERS)
def test_goes_on_from_its_state(make, rank, size, tmp_path):
    def optimizer_of(model):
        return models.named(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                            compression=make())

    def step(model, optimizer):
        optimizer.zero_grad()
        models.loss_of(model, models.batch_of(rank)).backward()
        optimizer.step()

    model = models.mlp()
    optimizer = optimizer_of(model)
    for _ in range(3):
        step(model, optimizer)
    torch.save((model.state_dict(), optimizer.state_dict()), tmp_path / "checkpoint")
    for _ in range(3):
        step(model, optimizer)

    state, of_optimizer = torch.load(tmp_path / "checkpoint")
    again = models.mlp()
    again.load_state_dict(state)
    other = optimizer_of(again)
    other.load_state_dict(of_optimizer)
    for _ in range(3):
        step(again, other)
    models.assert_equal(model, again)
    assert bool(of_optimizer["compression"]) == (size > 1)
    # A torch optimizer accepts the state, too.
    torch.optim.SGD(again.parameters(), lr=0.1, momentum=0.9).load_state_dict(of_optimizer)


def test_residuals_stay_each_ranks_own(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is remembered")
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model), compression=hvd.Compression.top_k(0.1))
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.step()
    before = optimizer.state_dict()["compression"]
    hvd.broadcast_optimizer_state(optimizer, 0)
    after = optimizer.state_dict()["compression"]
    assert before.keys() == after.keys() and before
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_other_types_are_sent_as_they_are(rank):
    model = models.mlp().double()
    optimizer, alone, inner = models.named_and_alone(model, compression=hvd.Compression.signs())
    models.loss_of(model, models.batch_of(rank).double()).backward()
    models.loss_of(alone, models.whole_batch().double()).backward()
    optimizer.step()
    inner.step()
    models.assert_equal(model, alone)


def test_refuses_other_calls_and_invalid_options():
    with pytest.raises(ValueError, match="only a DistributedOptimizer supports"):
        hvd.allreduce(torch.ones(2), compression=hvd.Compression.int8())
    with pytest.raises(ValueError, match="must be at least 1"):
        hvd.Compression.power_sgd(0)
    for share in (0, 1.5):
        with pytest.raises(ValueError, match="above 0, and at most 1"):
            hvd.Compression.top_k(share)
    for wrong in ({"momentum": 1.0}, {"warmup_steps": -1}, {"warmup_share": 2.0},
                  {"whole_below": -1}, {"max_norm": -1.0}):
        with pytest.raises(ValueError, match="top_k: "):
            hvd.Compression.top_k(**wrong)
    with pytest.raises(ValueError, match="signs: "):
        hvd.Compression.signs(momentum=-0.5)
