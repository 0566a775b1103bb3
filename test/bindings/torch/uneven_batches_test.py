# SPDX-License-Identifier: Apache-2.0
"""Ranks with different numbers of batches."""
import models
import pytest
import torch

import horovodpp.torch as hvd

COUNTS = [[0, 2, 1, 3], [3, 1, 3, 2], [2, 2, 2, 2]]  # Numbers of batches, by rank.


def batches_of(rank, count):
    generator = torch.Generator().manual_seed(rank)
    return [torch.randn(4, 6, generator=generator) for _ in range(count)]


def trained_alone(counts, divisor):
    """One process that takes the same steps. `divisor`: of gradients, given the active ranks."""
    model = models.mlp()
    optimizer = models.sgd(model)
    batches = [batches_of(rank, count) for rank, count in enumerate(counts)]
    for step in range(max(counts)):
        present = [own[step] for own in batches if step < len(own)]
        optimizer.zero_grad()
        for batch in present:
            (models.loss_of(model, batch) / divisor(len(present))).backward()
        optimizer.step()
    return model, optimizer


def assert_as_alone(model, optimizer, alone):
    models.assert_equal(model, alone[0])
    state, expected = (each.state_dict()["state"] for each in (optimizer, alone[1]))
    assert state.keys() == expected.keys()
    for i, slots in state.items():
        torch.testing.assert_close(slots["momentum_buffer"], expected[i]["momentum_buffer"])


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_without_batches_let_the_others_go_on(counts, weighted, rank, size):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    loop = hvd.uneven(batches_of(rank, counts[rank]), model, optimizer)
    assert len(loop) == counts[rank] and loop.last_rank is None
    for batch in loop:
        optimizer.zero_grad()
        if weighted:
            (models.loss_of(model, batch) * len(batch)).backward()
            optimizer.step(weight=len(batch))
        else:
            models.loss_of(model, batch).backward()
            optimizer.step()
    counts = counts[:size]
    assert counts[loop.last_rank] == max(counts)
    assert_as_alone(model, optimizer, trained_alone(
        counts, (lambda present: present) if weighted else (lambda present: size)))


def test_goes_through_the_batches_again(rank, size):
    loop = hvd.uneven(range(rank))
    for _ in range(2):
        seen = []
        for number in loop:
            hvd.allreduce(torch.ones(1), name="step")
            seen.append(number)
        assert seen == list(range(rank))
        assert loop.last_rank == size - 1


# A join would wait for other ranks, which may wait for this rank's reductions.
def test_does_not_join_where_a_step_fails(rank):
    with pytest.raises(ZeroDivisionError):
        for _ in hvd.uneven([1]):
            raise ZeroDivisionError
    for _ in hvd.uneven([1, 2]):
        break
    # A rank that has joined would refuse this broadcast.
    assert hvd.broadcast(torch.tensor([rank]), 0, name="after").item() == 0
