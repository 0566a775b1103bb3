# SPDX-License-Identifier: Apache-2.0
import models
import pytest
import torch

import horovodpp.torch as hvd

SHARDS = 8


def normed():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5), torch.nn.Dropout(0.3),
                               torch.nn.ReLU(), torch.nn.Linear(5, 2))


def loss_of(model, indices):
    x = torch.stack([torch.linspace(i, i + 1, 6).sin() for i in indices])
    return model(x).square().mean()


def train(steps, seed_before=0):
    torch.manual_seed(seed_before)
    model = normed()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    step = hvd.elastic.ShardedStep(model, optimizer, shards=SHARDS, seed=2)
    batches = hvd.elastic.ShardedIndices(100, 3, SHARDS, seed=4)
    for number in range(steps):
        for shard in step.shards(number):
            loss_of(model, batches(number, shard)).backward()
        step.apply()
    return model


def bits_of(model):
    return [value.numpy().tobytes() for value in model.state_dict().values()]


def by_hand(steps):
    """One process: each shard from the same buffers, and the tree of eight."""
    model = normed()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    batches = hvd.elastic.ShardedIndices(100, 3, SHARDS, seed=4)
    seeds = hvd.elastic.ShardedStep(model, optimizer, shards=SHARDS, seed=2)
    averaged = [b for b in model.buffers() if b.is_floating_point()]
    for number in range(steps):
        begin = [buffer.clone() for buffer in averaged]
        nodes = []
        for shard in range(SHARDS):
            for buffer, value in zip(averaged, begin):
                buffer.copy_(value)
            torch.manual_seed(seeds.seed_of(number, shard))
            optimizer.zero_grad()
            loss_of(model, batches(number, shard)).backward()
            nodes.append([p.grad.clone() for p in model.parameters()]
                         + [buffer.clone() for buffer in averaged])
        while len(nodes) > 1:
            nodes = [[a + b for a, b in zip(left, right)]
                     for left, right in zip(nodes[::2], nodes[1::2])]
        means = [value / SHARDS for value in nodes[0]]
        for parameter, mean in zip(model.parameters(), means):
            parameter.grad = mean
        for buffer, mean in zip(averaged, means[-len(averaged):]):
            buffer.copy_(mean)
        model[1].num_batches_tracked.fill_(number + 1)
        optimizer.step()
    return model


def test_the_bits_are_those_of_one_process():
    torch.set_num_threads(1)
    assert bits_of(train(5)) == bits_of(by_hand(5))


def test_the_bits_do_not_depend_on_the_generator_before():
    assert bits_of(train(2, seed_before=0)) == bits_of(train(2, seed_before=9))


def test_each_epoch_has_every_sample_once():
    batches = hvd.elastic.ShardedIndices(100, 3, SHARDS)
    assert batches.steps_per_epoch == 4
    epochs = [[index for step in range(first, first + 4) for shard in range(SHARDS)
               for index in batches(step, shard)] for first in (0, 4)]
    for indices in epochs:
        assert len(set(indices)) == len(indices) == 96
    assert epochs[0] != epochs[1]


def test_mistakes_are_named(size):
    model = models.mlp()
    with pytest.raises(ValueError, match="optimizer that the DistributedOptimizer was made of"):
        hvd.elastic.ShardedStep(model, models.named(model, models.sgd(model)), shards=SHARDS)
    with pytest.raises(ValueError, match="0 shards"):
        hvd.elastic.ShardedStep(model, models.sgd(model), shards=0)
    with pytest.raises(ValueError, match="none has begun"):
        hvd.elastic.ShardedStep(model, models.sgd(model), shards=SHARDS).apply()
    with pytest.raises(ValueError, match="do not fill a step"):
        hvd.elastic.ShardedIndices(10, 2, SHARDS)
    if size > 1:
        with pytest.raises(ValueError, match="share 1 shards"):
            next(hvd.elastic.ShardedStep(model, models.sgd(model), shards=1).shards(0))
