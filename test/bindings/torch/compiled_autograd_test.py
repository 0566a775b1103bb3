# SPDX-License-Identifier: Apache-2.0
"""Backward passes that torch compiles, hooks included."""
import copy

import models
import pytest
import torch
from versions import needs_torch

import horovodpp.torch as hvd

pytestmark = needs_torch("2.6", "compiled autograd by a setting")


def assert_trains_as_one_process(optimizer_of, make=models.sgd, passes=1, steps=3,
                                 set_to_none=True):
    torch._dynamo.reset()
    model = models.mlp()
    alone = copy.deepcopy(model)
    alone_optimizer = make(alone)
    optimizer = optimizer_of(model, make(model))

    @torch.compile(backend="eager")
    def forward_and_backward(batch):
        models.loss_of(model, batch).backward()

    for _ in range(steps):
        optimizer.zero_grad(set_to_none=set_to_none)
        alone_optimizer.zero_grad()
        for _ in range(passes):
            with torch._dynamo.config.patch(compiled_autograd=True):
                forward_and_backward(models.batch_of(hvd.rank()))
            models.loss_of(alone, models.whole_batch()).backward()
        optimizer.step()
        alone_optimizer.step()
    models.assert_equal(model, alone)


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("options", [
    {}, {"gradients_in_arena": False}, {"bucket_bytes": 0}, {"groups": 2}], ids=str)
def test_training_equals_one_process(options, set_to_none):
    assert_trains_as_one_process(
        lambda model, optimizer: models.named(model, optimizer, **options),
        set_to_none=set_to_none)


def test_several_passes_equal_one_process():
    assert_trains_as_one_process(
        lambda model, optimizer: models.named(model, optimizer, backward_passes_per_step=2),
        passes=2)


def test_adasum_of_equal_batches_is_the_step_of_one():
    model = models.mlp()
    alone = copy.deepcopy(model)
    optimizer = models.named(model, torch.optim.SGD(model.parameters(), lr=0.1), op=hvd.Adasum)
    alone_optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)

    @torch.compile(backend="eager")
    def forward_and_backward():
        models.loss_of(model, models.batch_of(0)).backward()

    for _ in range(2):
        optimizer.zero_grad()
        alone_optimizer.zero_grad()
        with torch._dynamo.config.patch(compiled_autograd=True):
            forward_and_backward()
        models.loss_of(alone, models.batch_of(0)).backward()
        optimizer.step()
        alone_optimizer.step()
    models.assert_equal(model, alone)
