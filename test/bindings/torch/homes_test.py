# SPDX-License-Identifier: Apache-2.0
"""Gradients in memory that ranks share, and gradients that the program keeps in place."""

import models
import pytest
import torch
from versions import needs_torch

import horovodpp.torch as hvd
from horovodpp import _core

pytestmark = needs_torch("2.1", "hook after a gradient was accumulated")


def lies_in_the_arena(tensor):
    return _core.is_in_arena(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def are_in_the_arena(model):
    return [lies_in_the_arena(p.grad) for p in model.parameters()]


@pytest.fixture
def several(size):
    if size == 1:
        pytest.skip("alone, nothing is sent")


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("groups", [None, 2])
def test_results_are_the_same_bits(set_to_none, passes, groups, rank, size):
    trained = []
    for gradients_in_arena in (True, False):
        model = models.mlp()
        optimizer = models.named(model, models.sgd(model), backward_passes_per_step=passes,
                                 groups=groups, gradients_in_arena=gradients_in_arena)
        for step in range(3):
            optimizer.zero_grad(set_to_none=set_to_none)
            for number in range(passes):
                batch = models.batch_of(rank + size * (step + 3 * number))
                models.loss_of(model, batch).backward()
            # Gradients that the program drops are allocated anew, and do not move
            # again.
            moved = gradients_in_arena and size > 1 and (step == 0 or not set_to_none)
            assert are_in_the_arena(model) == [moved] * 4
            optimizer.step()
        trained.append([p.detach() for p in model.parameters()])
    for in_arena, elsewhere in zip(*trained):
        assert torch.equal(in_arena, elsewhere)


@pytest.mark.parametrize("keep", [lambda p: p.grad, lambda p: p.grad.detach(),
                                  lambda p: p.grad.view(-1)], ids=["grad", "detached", "view"])
def test_a_kept_gradient_stays_unchanged(keep, rank):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    kept = []
    for step in range(4):
        optimizer.zero_grad(set_to_none=True)
        models.loss_of(model, models.batch_of(rank + step)).backward()
        optimizer.step()
        kept.append([(keep(p), p.grad.clone()) for p in model.parameters()])
    for gradients in kept:
        for gradient, value in gradients:
            assert torch.equal(gradient.reshape(-1), value.reshape(-1))


def test_a_gradient_set_by_the_program_keeps_its_memory(rank, several):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model)
    flat = torch.zeros(sum(p.numel() for p in model.parameters()))
    start = 0
    for p in model.parameters():
        p.grad = flat[start:start + p.numel()].view_as(p)
        start += p.numel()
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        models.loss_of(model, models.batch_of(rank)).backward()
        optimizer.step()
        inner.zero_grad()
        models.loss_of(alone, models.whole_batch()).backward()
        inner.step()
    models.assert_equal(model, alone)
    assert not any(are_in_the_arena(model))
    expected = torch.cat([p.grad.reshape(-1) for p in alone.parameters()])
    torch.testing.assert_close(flat, expected)


def test_of_other_types_and_layouts(rank, size):
    for dtype in (torch.float64, torch.bfloat16):
        model = models.mlp().to(dtype)
        optimizer = models.named(model, models.sgd(model))
        models.loss_of(model, models.batch_of(rank).to(dtype)).backward()
        optimizer.step()
        assert are_in_the_arena(model) == [size > 1] * 4
        assert all(p.grad.dtype == dtype for p in model.parameters())


def test_of_other_layouts():
    torch.manual_seed(3)
    images = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(),
                                 torch.nn.Linear(16, 2)).to(memory_format=torch.channels_last)

    def loss_of(model, batch):
        pixels = batch.repeat(1, 8).view(-1, 3, 4, 4)
        return model(pixels.contiguous(memory_format=torch.channels_last)).square().mean()

    models.compare(images, models.named, loss_of)


def test_compressed_gradients_stay_where_they_are(rank):
    model = models.mlp()
    models.named(model, models.sgd(model), compression=hvd.Compression.fp16)
    models.loss_of(model, models.batch_of(rank)).backward()
    assert not any(are_in_the_arena(model))


def test_a_parameter_may_get_another_shape(rank, several):
    model = torch.nn.Linear(6, 2)
    optimizer = models.named(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for rows in (2, 3):
        model.weight.data = torch.ones(rows, 6)
        model.bias.data = torch.ones(rows)
        optimizer.zero_grad(set_to_none=True)
        models.loss_of(model, models.batch_of(rank)).backward()
        optimizer.step()
        assert model.weight.grad.shape == (rows, 6)
