# SPDX-License-Identifier: Apache-2.0
"""Ranks that are threads of one process."""
import time

import numpy
import pytest
import torch

import horovodpp
import horovodpp.torch as hvd


def trained():
    hvd.init()
    generator = torch.Generator().manual_seed(1)
    weight = torch.nn.Parameter(torch.ones(3))
    other = torch.nn.Parameter(torch.ones(3))
    optimizers = [hvd.DistributedOptimizer(torch.optim.SGD([p], lr=0.1), [("weight", p)])
                  for p in (weight, other)]
    data = torch.randn(hvd.size(), 3, generator=generator)[hvd.rank()]
    for optimizer, p in zip(optimizers, (weight, other)):
        (p * data).sum().backward()
        optimizer.step()
    assert torch.equal(weight, other)
    return weight.detach()


def test_results_come_by_rank():
    assert horovodpp.run_ranks(3, lambda scale: hvd.rank() * scale, args=(10,)) == [0, 10, 20]
    assert not hvd.is_initialized()


def test_they_reduce_and_train():
    sums = horovodpp.run_ranks(
        2, lambda: horovodpp.allreduce(numpy.full(2, float(hvd.rank())), op=hvd.Sum).tolist())
    assert sums == [[1, 1], [1, 1]]
    first, second = horovodpp.run_ranks(2, trained)
    assert torch.equal(first, second) and not torch.equal(first, torch.ones(3))
    again, _ = horovodpp.run_ranks(2, trained)
    assert torch.equal(first, again)


def test_process_sets_end_with_them():
    def with_a_set():
        pair = hvd.add_process_set([0, 1])
        result = None
        if pair.included():
            result = hvd.allreduce(torch.tensor([float(hvd.rank())]), process_set=pair).item()
        hvd.barrier()  # Keeps all ranks in the job until here.
        return result

    for _ in range(2):
        assert horovodpp.run_ranks(3, with_a_set) == [0.5, 0.5, None]


class TellsSlowly(LookupError):
    """An exception whose text takes a while, except the first time."""
    told = False

    def __str__(self):
        if self.told:
            time.sleep(0.2)
        self.told = True
        return super().__str__()


@pytest.mark.parametrize("kind", [LookupError, TellsSlowly])
def test_the_first_exception_is_raised(kind):
    def fails():
        if hvd.rank() == 1:
            raise kind("no such sample: 17")
        with pytest.raises(hvd.HorovodInternalError, match=f"raised {kind.__name__}: no such sample"):
            hvd.allreduce(torch.ones(1), name="never")
        return True

    with pytest.raises(kind, match="no such sample: 17"):
        horovodpp.run_ranks(2, fails)
    assert horovodpp.run_ranks(2, hvd.size) == [2, 2]
