# SPDX-License-Identifier: Apache-2.0
"""SyncBatchNorm, compared with BatchNorm over the batches of all ranks."""
import copy

import pytest
import torch
from versions import needs_torch

import horovodpp.torch as hvd

ROWS = [3, 1, 4, 2]  # Of the ranks' batches.


def inputs(shape, dtype=torch.float64):
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(rows, *shape, generator=generator, dtype=dtype) * (r + 1) + r
            for r, rows in enumerate(ROWS[:hvd.size()])]


def make(kind, features, **options):
    norm = kind(features, **options).double()
    if norm.affine:
        with torch.no_grad():
            norm.weight.copy_(torch.linspace(0.5, 2, features))
            norm.bias.copy_(torch.linspace(-1, 1, features))
    return norm


@pytest.mark.parametrize("options", [
    {}, {"momentum": None}, {"affine": False}, {"track_running_stats": False},
    {"eps": 0.1, "momentum": 0.5}])
@pytest.mark.parametrize("plain, shape", [
    (torch.nn.BatchNorm1d, (5,)), (torch.nn.BatchNorm1d, (5, 3)), (torch.nn.BatchNorm2d, (5, 3, 2)),
    (torch.nn.BatchNorm3d, (5, 2, 1, 2))])
def test_equals_batch_norm_of_the_whole_batch(plain, shape, options, rank, size):
    ours, theirs = make(hvd.SyncBatchNorm, 5, **options), make(plain, 5, **options)
    for _ in range(3):
        xs = inputs(shape)
        mine = xs[rank].clone().requires_grad_()
        whole = torch.cat(xs).requires_grad_()
        y, expected = ours(mine), theirs(whole)
        start = sum(ROWS[:rank])
        torch.testing.assert_close(y, expected[start:start + ROWS[rank]])
        (y * y.detach().sin()).sum().backward()
        (expected * expected.detach().sin()).sum().backward()
        torch.testing.assert_close(mine.grad, whole.grad[start:start + ROWS[rank]])
    if ours.affine:  # Gradients of parameters are this rank's share.
        for p, q in zip(ours.parameters(), theirs.parameters()):
            torch.testing.assert_close(hvd.allreduce(p.grad, op=hvd.Sum), q.grad)
    for p, q in zip(ours.buffers(), theirs.buffers()):
        torch.testing.assert_close(p, q)
    ours.eval()
    theirs.eval()
    if ours.track_running_stats:
        torch.testing.assert_close(ours(xs[rank]), theirs(xs[rank]))


def test_a_rank_may_have_an_empty_batch(rank, size):
    if size == 1:
        pytest.skip("somebody has to have a batch")
    ours, theirs = make(hvd.SyncBatchNorm, 3), make(torch.nn.BatchNorm1d, 3)
    whole = torch.arange(12, dtype=torch.float64).reshape(4, 3)
    mine = whole if rank == 0 else whole[:0]
    y = ours(mine)
    expected = theirs(whole)
    y.sum().backward()
    assert y.shape == mine.shape
    if rank == 0:
        torch.testing.assert_close(y, expected)
    torch.testing.assert_close(ours.running_var, theirs.running_var)


@pytest.mark.parametrize("dtype", [
    pytest.param(torch.float16, marks=needs_torch("2.2", "batch_norm of float16 on the CPU")),
    torch.bfloat16, torch.float32])
def test_keeps_the_dtype(dtype, rank):
    norm = hvd.SyncBatchNorm(3)
    if dtype != torch.float32:
        norm = norm.to(dtype)
    x = torch.randn(4, 3).to(dtype).requires_grad_()
    y = norm(x)
    y.float().square().sum().backward()
    assert y.dtype == x.grad.dtype == norm.weight.grad.dtype == dtype


def test_in_a_model(rank, size):
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), hvd.SyncBatchNorm(6), torch.nn.ReLU(),
                                torch.nn.Linear(6, 1)).double()
    alone = copy.deepcopy(model)
    alone[1] = torch.nn.BatchNorm1d(6).double()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         model.named_parameters(), op=hvd.Sum)
    inner = torch.optim.SGD(alone.parameters(), lr=0.1)
    xs = inputs((4,))
    for _ in range(3):
        optimizer.zero_grad()
        inner.zero_grad()
        (model(xs[rank]).square().sum() / sum(ROWS[:size])).backward()
        (alone(torch.cat(xs)).square().sum() / sum(ROWS[:size])).backward()
        optimizer.step()
        inner.step()
    for p, q in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(p, q)


def test_refuses_an_input_without_features():
    with pytest.raises(ValueError, match=r"expected at least 2D input \(got 1D input\)"):
        hvd.SyncBatchNorm(3)(torch.ones(3))


def test_refuses_a_single_value(size):
    if size == 1:
        pytest.skip("torch itself says so")
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        norm = hvd.SyncBatchNorm(3)
        norm(torch.ones(1 if hvd.rank() == 0 else 0, 3))
