# SPDX-License-Identifier: Apache-2.0
"""optimizer.step() with a weight, a scaler and a norm."""
import contextlib
import copy

import models
import pytest
import torch
from versions import needs_torch

import horovodpp.torch as hvd


def sum_of(model, batch):
    return model(batch).square().sum()


def rows_of(rank, step):
    """A different number of rows on each rank, none on some."""
    return models.batch_of(rank, (rank + step) % 3)


@pytest.mark.parametrize("passes", [1, 2])
def test_a_weight_makes_it_the_mean_of_all_samples(passes, rank, size):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model, backward_passes_per_step=passes)
    for step in range(1, 5):
        batches = [rows_of(r, step) for r in range(size)]
        total = sum(batch.shape[0] for batch in batches)
        if total == 0:
            continue
        optimizer.zero_grad()
        for _ in range(passes):
            sum_of(model, batches[rank]).backward()
        result = optimizer.step(weight=passes * batches[rank].shape[0])
        assert result == (None, True, None)
        inner.zero_grad()
        (sum_of(alone, torch.cat(batches)) / total).backward()
        inner.step()
    models.assert_equal(model, alone)


def test_an_invalid_weight_is_refused(rank):
    model = models.mlp()
    before = copy.deepcopy(model)
    optimizer = models.named(model, models.sgd(model))
    sum_of(model, models.batch_of(rank)).backward()
    for weight in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="give the number of samples on this rank"):
            optimizer.step(weight=weight)
    with pytest.raises(ValueError, match="the weights of all ranks are 0"):
        optimizer.step(weight=0)
    models.assert_equal(model, before)
    optimizer = models.named(model, models.sgd(model), op=hvd.Sum)
    with pytest.raises(ValueError, match="requires op=Average"):
        optimizer.step(weight=1)


def scalers():
    return pytest.mark.parametrize("make", [
        models.sgd,
        pytest.param(lambda model: torch.optim.AdamW(model.parameters(), lr=0.01, fused=True),
                     marks=needs_torch("2.4", "fused optimizers for the CPU"))],
        ids=["sgd", "adamw.fused"])


@needs_torch("2.3", "GradScaler for the CPU")
@scalers()
def test_a_scaler_a_norm_and_a_weight_at_once(make, rank, size):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model, make)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(3):
        optimizer.zero_grad()
        batch = models.batch_of(rank, rank + 1)
        scaler.scale(sum_of(model, batch)).backward()
        result = optimizer.step(max_norm=0.01, grad_scaler=scaler, weight=batch.shape[0])
        inner.zero_grad()
        everything = torch.cat([models.batch_of(r, r + 1) for r in range(size)])
        (sum_of(alone, everything) / everything.shape[0]).backward()
        norm = torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.01)
        inner.step()
        assert result.stepped and result.norm.item() == pytest.approx(norm.item(), rel=1e-4)
    models.assert_equal(model, alone)


@contextlib.contextmanager
def counted_reads():
    """A list of the numbers that the host reads out of tensors. On a GPU each read waits."""
    from torch.utils._python_dispatch import TorchDispatchMode

    reads = []

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            if operation is torch.ops.aten._local_scalar_dense.default:
                reads.append(args[0])
            return operation(*args, **(kwargs or {}))

    with Counting():
        yield reads


@needs_torch("2.3", "GradScaler for the CPU")
@pytest.mark.parametrize("scales, clips", [(True, False), (False, True), (True, True)])
def test_the_host_reads_one_number(scales, clips, rank):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scales)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(models.loss_of(model, models.batch_of(rank))).backward()
        optimizer.synchronize()
        with counted_reads() as reads:
            result = optimizer.step(max_norm=0.01 if clips else None,
                                    grad_scaler=scaler if scales else None)
        assert len(reads) == 1
        if clips:
            assert isinstance(result.norm, torch.Tensor) and result.norm.shape == ()


@needs_torch("2.3", "GradScaler for the CPU")
@scalers()
def test_an_overflow_on_one_rank_leaves_the_step_out_on_all(make, rank):
    model = models.mlp()
    optimizer = models.named(model, make(model))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    before = copy.deepcopy(model)
    for updates, scale in ((False, 1024.0), (True, 512.0)):
        optimizer.zero_grad()
        loss = scaler.scale(models.loss_of(model, models.batch_of(rank)))
        (loss * float("inf") if rank == 0 else loss).backward()
        result = optimizer.step(grad_scaler=scaler, max_norm=1.0, update_scaler=updates)
        assert not result.stepped
        if not updates:
            scaler.update(1024.0)
        assert scaler.get_scale() == scale
        models.assert_equal(model, before)


@needs_torch("2.3", "GradScaler for the CPU")
def test_a_scaler_steps_a_fused_optimizer(rank):
    model = models.mlp()
    optimizer = models.named(model, torch.optim.SGD(model.parameters(), lr=0.1, fused=True)) \
        if torch.__version__ >= "2.4" else models.named(model, models.sgd(model))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    before = model[0].weight.detach().clone()
    scaler.scale(models.loss_of(model, models.batch_of(rank))).backward()
    optimizer.synchronize()
    with optimizer.skip_synchronize():
        scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(model[0].weight, before)


def test_a_norm_that_is_not_finite_is_an_error_without_a_scaler(rank):
    model = models.mlp()
    before = copy.deepcopy(model)
    optimizer = models.named(model, models.sgd(model))
    loss = models.loss_of(model, models.batch_of(rank))
    (loss * float("inf") if rank == 0 else loss).backward()
    with pytest.raises(RuntimeError, match="non-finite"):
        optimizer.step(max_norm=1.0)
    models.assert_equal(model, before)


def test_a_closure_is_called_once(rank):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model)

    def closure():
        optimizer.zero_grad()
        loss = models.loss_of(model, models.batch_of(rank))
        loss.backward()
        return loss

    result = optimizer.step(closure, max_norm=1e9)
    models.loss_of(alone, models.whole_batch()).backward()
    inner.step()
    models.assert_equal(model, alone)
    assert result.loss.item() == models.loss_of(models.mlp(), models.batch_of(rank)).item()


def test_gradients_that_are_synchronized_are_not_again(rank):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model)
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.synchronize()
    optimizer.step(max_norm=1e9)
    models.loss_of(alone, models.whole_batch()).backward()
    inner.step()
    models.assert_equal(model, alone)
