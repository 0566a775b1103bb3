# SPDX-License-Identifier: Apache-2.0
"""Small models, and a single process with the whole batch as a reference."""
import copy

import torch

import horovodpp.torch as hvd

ROWS = 4  # Of each rank's batch.


def batch_of(rank, rows=ROWS, width=6):
    generator = torch.Generator().manual_seed(100 + rank)
    return torch.randn(rows, width, generator=generator)


def whole_batch(rows=ROWS, width=6):
    return torch.cat([batch_of(r, rows, width) for r in range(hvd.size())])


def mlp(width=6):
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def loss_of(model, batch):
    return model(batch).square().mean()


def sgd(model, lr=0.1, **options):
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, **options)


def compare(model, distributed, loss=loss_of, steps=3, make=sgd, tolerance=1e-5):
    """Trains `model` by `distributed(model, optimizer)`, and a copy on the whole batch.

    distributed: makes the optimizer. Every step is optimizer.zero_grad(), backward, step().
    """
    alone = copy.deepcopy(model)
    alone_optimizer = make(alone)
    optimizer = distributed(model, make(model))
    for _ in range(steps):
        step_both(model, optimizer, alone, alone_optimizer, loss)
    assert_equal(model, alone, tolerance)
    return optimizer


def step_both(model, optimizer, alone, alone_optimizer, loss=loss_of, passes=1):
    """A step with this rank's batch and, of the copy, with the whole batch."""
    for of, by, batch in ((model, optimizer, batch_of(hvd.rank())),
                          (alone, alone_optimizer, whole_batch())):
        by.zero_grad()
        for _ in range(passes):
            loss(of, batch).backward()
        by.step()


def assert_equal(model, other, tolerance=1e-5):
    for (name, p), q in zip(model.named_parameters(), other.parameters()):
        torch.testing.assert_close(p, q, rtol=tolerance, atol=tolerance,
                                   msg=lambda text, name=name: f"{name}: {text}")


def named(model, optimizer, **options):
    return hvd.DistributedOptimizer(optimizer, model.named_parameters(), **options)


def named_and_alone(model, make=sgd, **options):
    """A distributed optimizer of `model`, a copy for one process, and the copy's optimizer."""
    alone = copy.deepcopy(model)
    return named(model, make(model), **options), alone, make(alone)
