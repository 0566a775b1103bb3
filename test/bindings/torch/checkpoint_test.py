# SPDX-License-Identifier: Apache-2.0
"""Each gradient counts once, in any order that torch's engine chooses."""
import functools
import warnings

import models
import pytest
import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from versions import needs_torch

import horovodpp.torch as hvd


class Tied(torch.nn.Module):
    """A model whose one weight embeds and projects, and whose one block is used twice."""

    def __init__(self, run, outside=False):
        super().__init__()
        torch.manual_seed(11)
        self.embedding = torch.nn.Linear(6, 8, bias=False)
        self.block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
        self.last = torch.nn.Linear(6, 2)
        self.run = run
        self.outside = outside

    def forward(self, x):
        x = self.run(self.embedding, x)
        x = self.run(self.block, x)
        x = self.run(self.block, x)
        x = self.run(lambda y: y @ self.embedding.weight, x)
        if self.outside:
            x = self.embedding(x) @ self.embedding.weight
        return self.last(x)


def plain(function, x):
    return function(x)


def reentrant(function, x):
    return checkpoint(function, x, use_reentrant=True)


def nonreentrant(function, x):
    return checkpoint(function, x, use_reentrant=False)


def nested(function, x):
    return checkpoint(lambda y: checkpoint(function, y, use_reentrant=True), x,
                      use_reentrant=True)


RUNS = {"plain": plain, "reentrant": reentrant, "nonreentrant": nonreentrant, "nested": nested}


def loss_of(model, batch):
    # A reentrant checkpoint needs an input that requires grad.
    return model(batch.clone().requires_grad_()).square().mean()


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("options", [{}, {"groups": 2}, {"compression": hvd.Compression.fp16}],
                         ids=["each", "groups", "fp16"])
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_equals_one_process_with_the_whole_batch(run, options, outside):
    tolerance = 2e-2 if "compression" in options else 1e-5
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The gradient of")
        models.compare(Tied(run, outside), functools.partial(models.named, **options), loss_of,
                       steps=4, tolerance=tolerance)


@pytest.mark.parametrize("run", [reentrant, nonreentrant])
def test_with_several_passes_per_step(run):
    model = Tied(run)
    optimizer, alone, inner = models.named_and_alone(model, backward_passes_per_step=2)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The gradient of")
        for _ in range(3):
            models.step_both(model, optimizer, alone, inner, loss_of, passes=2)
    models.assert_equal(model, alone)


def test_late_parts_are_reported_once_and_then_expected(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    model = Tied(reentrant)
    optimizer = models.named(model, models.sgd(model), bucket_bytes=0)
    for step in range(3):
        optimizer.zero_grad()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            loss_of(model, models.batch_of(rank)).backward()
        assert bool(optimizer._reduction._late) == (step == 0)
        assert [str(warning.message).split("'")[1][:7] for warning in told] == \
            (["block.0"] if step == 0 else [])
        optimizer.step()
    reduction = optimizer._reduction
    assert {name: reduction.ledger.parts(i)
            for i, (name, _) in enumerate(model.named_parameters())} == {
        "embedding.weight": 2, "block.0.weight": 2, "block.0.bias": 2, "last.weight": 1,
        "last.bias": 1}


def test_gradients_that_wait_have_no_late_parts(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    model = Tied(reentrant)
    optimizer = models.named(model, models.sgd(model), bucket_bytes=1 << 20)
    for _ in range(3):
        optimizer.zero_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loss_of(model, models.batch_of(rank)).backward()
        assert not optimizer._reduction._late
        assert all(handle.finish is None for handle in optimizer._handles.values())
        optimizer.step()


@pytest.mark.parametrize("bucket_bytes", [0, 100, 1 << 20])
def test_late_parts_of_some_ranks_only(rank, size, bucket_bytes):
    model = Tied(reentrant if rank == 0 else plain)
    alone = Tied(plain)
    # A gradient may be held back on one rank, and have late parts on another.
    optimizer = models.named(model, models.sgd(model),
                             bucket_bytes=bucket_bytes if rank == 0 else 0)
    inner = models.sgd(alone)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The gradient of")
        for _ in range(3):
            models.step_both(model, optimizer, alone, inner, loss_of)
    models.assert_equal(model, alone)


def test_the_number_of_parts_may_change():
    model = Tied(reentrant)
    alone = Tied(plain)
    optimizer = models.named(model, models.sgd(model))
    inner = models.sgd(alone)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The gradient of")
        for step in range(6):
            for of in (model, alone):
                of.outside = step % 2 == 1
            models.step_both(model, optimizer, alone, inner, loss_of)
    models.assert_equal(model, alone)


@needs_torch("2.0", "checkpoint_sequential(use_reentrant)")
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint_sequential(use_reentrant):
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh())
                                  for _ in range(4)))
    models.compare(model, models.named, lambda of, batch: checkpoint_sequential(
        of, 2, batch.clone().requires_grad_(), use_reentrant=use_reentrant).square().mean())


def test_dropout_and_frozen_layers_under_checkpoints():
    model = Tied(nonreentrant)
    model.block[0].weight.requires_grad_(False)
    models.compare(model, models.named, loss_of)
