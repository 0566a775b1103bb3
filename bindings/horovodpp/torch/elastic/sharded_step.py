# SPDX-License-Identifier: Apache-2.0
"""Training over virtual shards: the weights do not depend on the number of ranks."""
from __future__ import annotations

from typing import Any, Iterable, List, Optional

import hashlib

import torch

from horovodpp import _core
from horovodpp.common.explained import explained
from horovodpp.torch.dtypes import describe
from horovodpp.torch.mpi_ops import size


def _seed_of(*parts):
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@explained(seed="of the shards' generators; equal on all ranks.",
           raises={"ValueError": "there are fewer shards than ranks, or the optimizer is wrapped."})
class ShardedStep:
    """A step of training in which the global batch is cut into a fixed number of shards.

    Example:
        step = hvd.elastic.ShardedStep(model, optimizer, shards=8, seed=1)
        while state.step < 1000:
            for shard in step.shards(state.step):
                x, y = batch_of(state.step, shard)
                loss_of(model(x), y).backward()  # The mean over the shard.
            step.apply()
            state.step += 1
            state.end_step()

    Each rank computes its part of the shards. A shard has its own data, its own seed of torch's
    generator, and begins with the buffers (of batch norm) that the step began with. Gradients and
    floating-point buffers are added in one fixed order of the shards. So after any number of steps
    the weights have the same bits, whatever the number of ranks was in each step. This holds if
    ranks compute alike: the same machine type, number of threads (torch.set_num_threads) and
    deterministic operations.

    Args:
        model: its parameters and buffers lie in the host's memory. Integer buffers do not depend on
            the shard.
        optimizer: a torch.optim.Optimizer of this rank alone, not a DistributedOptimizer.
        shards: at least as many as there are ever ranks. A power of two moves the fewest bytes.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, shards: int,
                 seed: int = 0) -> None:
        if hasattr(optimizer, "skip_synchronize"):
            raise ValueError("ShardedStep reduces the gradients itself: give it the optimizer that "
                             "the DistributedOptimizer was made of")
        if shards < 1:
            raise ValueError(f"there are {shards} shards; give 1 or more")
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        buffers = list(model.buffers())
        self._averaged = [buffer for buffer in buffers if buffer.is_floating_point()]
        self._counted = [buffer for buffer in buffers if not buffer.is_floating_point()]
        self._optimizer = optimizer
        self._shards = shards
        self._seed = seed
        self._sum: Any = None

    def shards(self, step: int) -> Iterable[int]:
        """The numbers of this rank's shards of a step. Call backward() for each.

        step: the number of the step; it selects the seeds.
        """
        if size() > self._shards:
            raise ValueError(f"{size()} ranks share {self._shards} shards; give ShardedStep at "
                             "least as many shards as ranks")
        self._sum = _core.ShardSum(self._shards, "horovodpp.shards")
        begin = [buffer.clone() for buffer in self._averaged + self._counted]
        after_first = None
        for shard in range(*self._sum.owned()):
            self._put(self._averaged + self._counted, begin)
            for parameter in self._parameters:
                parameter.grad = None
            torch.manual_seed(self.seed_of(step, shard))
            yield shard
            self._sum.add(shard, [describe(tensor) for tensor in self._results()])
            if after_first is None:
                after_first = [buffer.clone() for buffer in self._counted]
        if after_first is not None:
            self._put(self._counted, after_first)

    def seed_of(self, step: int, shard: int) -> int:
        """The seed of a shard in a step."""
        return _seed_of(self._seed, step, shard)

    def apply(self) -> None:
        """Averages gradients and buffers over all shards, and makes the optimizer's step.

        Raises HorovodInternalError if a rank was lost; parameters and optimizer are then unchanged.
        """
        if self._sum is None:
            raise ValueError("apply() ends a step, and none has begun: iterate over shards() first")
        results = self._results()
        shard_sum, self._sum = self._sum, None
        shard_sum.finish([describe(tensor) for tensor in results])
        self._optimizer.step()

    def _results(self):
        for parameter in self._parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [p.grad for p in self._parameters] + self._averaged

    @staticmethod
    @torch.no_grad()
    def _put(buffers, values):
        for buffer, value in zip(buffers, values):
            buffer.copy_(value)


@explained(batch_size="the number of samples of a shard.", shards="as for ShardedStep.",
           seed="of the orders; equal on all ranks.",
           raises={"ValueError": "the samples do not fill one step."},
           example="""
               indices = hvd.elastic.ShardedIndices(len(dataset), batch_size=32, shards=8)
               batch = [dataset[i] for i in indices(step, shard)]""")
class ShardedIndices:
    """The indices of a dataset for each step and shard: a new order in each epoch.

    Example:
        batches = hvd.elastic.ShardedIndices(len(dataset), batch_size=16, shards=8)
        indices = batches(step, shard)

    Args:
        length: the number of samples. batch_size: the samples of a shard in a step. The last
            samples of an epoch, which do not fill a step, are left out.
    """

    def __init__(self, length: int, batch_size: int, shards: int, seed: int = 0) -> None:
        self._length = length
        self._batch = batch_size
        self._shards = shards
        self._seed = seed
        self._epoch: Optional[int] = None
        self.steps_per_epoch = length // (batch_size * shards)
        if self.steps_per_epoch < 1:
            raise ValueError(f"{length} samples do not fill a step of {shards} shards of "
                             f"{batch_size}")

    def __call__(self, step: int, shard: int) -> List[int]:
        """A list of `batch_size` indices."""
        epoch, step = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(_seed_of(self._seed, epoch))
            self._order = torch.randperm(self._length, generator=generator).tolist()
            self._epoch = epoch
        first = (step * self._shards + shard) * self._batch
        return self._order[first:first + self._batch]
