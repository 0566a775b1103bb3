# SPDX-License-Identifier: Apache-2.0
"""Complex tensors, which are reduced as pairs of real numbers."""
import copy

import models
import numpy
import pytest
import torch

import horovodpp
import horovodpp.torch as hvd

DTYPES = [torch.complex64, torch.complex128]


def values(rank, dtype=torch.complex64):
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(4, 3, dtype=dtype, generator=generator)


def total(size, dtype=torch.complex64):
    return sum(values(rank, dtype) for rank in range(size))


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype, rank, size):
    mine, whole = values(rank, dtype), total(size, dtype)
    torch.testing.assert_close(hvd.allreduce(mine, op=hvd.Sum), whole)
    torch.testing.assert_close(hvd.allreduce(mine, prescale_factor=0.5), whole / size / 2)
    in_place = mine.clone()
    assert hvd.allreduce_(in_place, op=hvd.Sum) is in_place
    torch.testing.assert_close(in_place, whole)
    first, second = hvd.grouped_allreduce([mine, mine.real.contiguous()], op=hvd.Sum)
    torch.testing.assert_close(first, whole)
    torch.testing.assert_close(second, whole.real)
    rows = hvd.reducescatter(mine, op=hvd.Sum)
    torch.testing.assert_close(hvd.allgather(rows), whole)
    on_root = hvd.reduce(mine, root_rank=0, op=hvd.Sum)
    assert on_root.dtype == dtype
    if rank == 0:
        torch.testing.assert_close(on_root, whole)


def test_scalars_and_empty_tensors(size):
    assert hvd.allreduce(torch.tensor(1 + 2j), op=hvd.Sum).item() == size * (1 + 2j)
    assert hvd.allreduce(torch.empty(0, 3, dtype=torch.complex64)).shape == (0, 3)


def test_moved(rank, size):
    gathered = hvd.allgather(values(rank))
    assert torch.equal(gathered, torch.cat([values(r) for r in range(size)]))
    assert torch.equal(hvd.broadcast(values(rank), root_rank=size - 1), values(size - 1))


def test_the_gradient_is_reduced_too(rank, size):
    x = values(rank).requires_grad_()
    weights = values(7)
    (hvd.allreduce(x, op=hvd.Sum) * weights).sum().abs().backward()
    whole = total(size).requires_grad_()
    (whole * weights).sum().abs().backward()
    torch.testing.assert_close(x.grad, size * whole.grad)


def test_arrays(rank, size):
    mine, whole = values(rank).numpy(), total(size).numpy()
    numpy.testing.assert_allclose(horovodpp.allreduce(mine, op=horovodpp.Sum), whole, 1e-5)
    numpy.testing.assert_allclose(
        horovodpp.allgather(horovodpp.reducescatter(mine, op=horovodpp.Sum)), whole, 1e-5)


@pytest.mark.parametrize("op", [hvd.Min, hvd.Max, hvd.Product, hvd.Adasum])
def test_operations_that_do_not_take_each_part_by_itself_are_refused(op):
    for call in (hvd.allreduce, hvd.allreduce_, hvd.reducescatter):
        if call is hvd.reducescatter and op == hvd.Adasum:
            continue  # Another error.
        with pytest.raises(ValueError, match="ComplexFloat.*not supported"):
            call(values(0), op=op)
    with pytest.raises(ValueError, match="complex64 is not supported"):
        horovodpp.allreduce(values(0).numpy(), op=op)


def test_a_conjugate_in_place_is_refused():
    with pytest.raises(ValueError, match="resolve_conj"):
        hvd.allreduce_(values(0).conj())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.weight = torch.nn.Parameter(torch.randn(6, 5, dtype=torch.complex64))
        self.head = torch.nn.Linear(5, 2)

    def forward(self, x):
        return self.head((x.to(torch.complex64) @ self.weight).abs())


@pytest.mark.parametrize("options", [{}, {"groups": 2}, {"gradients_in_arena": False},
                                     {"bucket_bytes": 0}, {"compression": hvd.Compression.fp16}],
                         ids=str)
def test_complex_parameters_train_as_in_one_process(options):
    tolerance = 1e-2 if "compression" in options else 1e-5
    models.compare(Net(), lambda model, optimizer: models.named(model, optimizer, **options),
                   tolerance=tolerance)


def test_a_parameter_of_one_rank_alone(rank, size):
    model = Net()
    alone = copy.deepcopy(model)
    optimizer = models.named(model, models.sgd(model))
    if rank == 0:
        models.loss_of(model, models.batch_of(0)).backward()
    optimizer.step()
    inner = models.sgd(alone)
    (models.loss_of(alone, models.batch_of(0)) / size).backward()
    inner.step()
    models.assert_equal(model, alone)
