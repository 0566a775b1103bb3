# SPDX-License-Identifier: Apache-2.0
"""The gradients of the collectives: the loss is the mean over the ranks."""
import pytest
import torch

import horovodpp.torch as hvd


def leaf(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("op", [hvd.Sum, hvd.Average])
def test_of_allreduce(op, size):
    x = leaf(2, 3)
    hvd.allreduce(x, op=op).sum().backward()
    assert x.grad.tolist() == torch.full((2, 3), size if op == hvd.Sum else 1.0).tolist()


def test_of_allreduce_with_factors_and_compression(size):
    x = leaf(4)
    hvd.allreduce(x, op=hvd.Sum, prescale_factor=0.5, postscale_factor=4.0,
                  compression=hvd.Compression.fp16).sum().backward()
    assert x.grad.tolist() == [2.0 * size] * 4


def test_of_allreduce_of_a_gradient_that_is_expanded(size):
    x = leaf(4)
    weight = torch.tensor([[1.0], [2.0]]).expand(2, 4).t()
    (hvd.allreduce(x, op=hvd.Sum).unsqueeze(1) * weight).sum().backward()
    assert x.grad.tolist() == [3.0 * size] * 4


def test_of_grouped_allreduce(size):
    x, y = leaf(2), leaf(3)
    a, b = hvd.grouped_allreduce([x, y], op=hvd.Sum)
    (a.sum() + 2 * b.sum()).backward()
    assert x.grad.tolist() == [size] * 2 and y.grad.tolist() == [2.0 * size] * 3


def test_of_grouped_allreduce_with_an_unused_result(size):
    x, y = leaf(2), leaf(3)
    hvd.grouped_allreduce([x, y], op=hvd.Average)[0].sum().backward()
    assert x.grad.tolist() == [1.0] * 2 and y.grad.tolist() == [0.0] * 3


def test_of_allgather(rank, size):
    x = leaf(rank + 1, 2)
    gathered = hvd.allgather(x)
    weights = torch.cat([torch.full((r + 1, 2), float(r)) for r in range(size)])
    (gathered * weights).sum().backward()
    assert x.grad.tolist() == [[float(rank)] * 2] * (rank + 1)


def test_of_grouped_allgather(rank, size):
    x, y = leaf(rank + 1), leaf(2)
    a, b = hvd.grouped_allgather([x, y])
    weights = torch.cat([torch.full((2,), float(r)) for r in range(size)])
    (a.sum() + (b * weights).sum()).backward()
    assert x.grad.tolist() == [1.0] * (rank + 1) and y.grad.tolist() == [float(rank)] * 2


def test_of_broadcast(rank, size):
    x = leaf(3)
    root = size - 1
    hvd.broadcast(x, root).sum().backward()
    assert x.grad.tolist() == [float(rank == root)] * 3


def test_of_alltoall(rank, size):
    x = leaf(size * 2)
    hvd.alltoall(x).sum().backward()
    assert x.grad.tolist() == [1.0] * (size * 2)


def test_of_alltoall_with_splits(rank, size):
    splits = torch.tensor([r + 1 for r in range(size)], dtype=torch.int32)
    x = leaf(int(splits.sum()) + 2)
    output, received = hvd.alltoall(x, splits)
    assert not received.requires_grad
    (output * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [r + 1.0 for r in range(size) for _ in range(r + 1)] + [0.0, 0.0]


@pytest.mark.parametrize("op", [hvd.Sum, hvd.Average])
def test_of_reducescatter(op, size):
    x = leaf(2 * size + 1, 2)
    hvd.reducescatter(x, op=op, prescale_factor=0.5, postscale_factor=4.0).sum().backward()
    expected = 2.0 * (size if op == hvd.Sum else 1.0)
    assert x.grad.tolist() == torch.full((2 * size + 1, 2), expected).tolist()


def test_of_grouped_reducescatter(size):
    x, y = leaf(size), leaf(2 * size)
    a, b = hvd.grouped_reducescatter([x, y], op=hvd.Sum)
    (a.sum() + 3 * b.sum()).backward()
    assert x.grad.tolist() == [1.0 * size] * size and y.grad.tolist() == [3.0 * size] * 2 * size


def test_in_a_process_set(rank, pair):
    x = leaf(2)
    if pair.included():
        hvd.allreduce(x, op=hvd.Sum, process_set=pair).sum().backward()
        hvd.allgather(x, process_set=pair).sum().backward()
        hvd.reducescatter(x, op=hvd.Sum, process_set=pair).sum().backward()
        assert x.grad.tolist() == [2.0 + 1.0 + 2.0] * 2


def test_no_graph_is_recorded_without_requires_grad():
    assert not hvd.allreduce(torch.ones(1)).requires_grad
    with torch.no_grad():
        assert not hvd.allreduce(leaf(1)).requires_grad
    for numbers in (torch.ones(hvd.size(), dtype=torch.int64),):
        assert not hvd.reducescatter(numbers, op=hvd.Sum).requires_grad
