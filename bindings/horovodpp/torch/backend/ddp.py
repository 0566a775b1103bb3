# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel whose gradients are reduced in the arena."""
import torch.distributed as dist

from horovodpp.torch.arena import arena_empty


class _Buckets:
    """Memory for each bucket of a model, in which the library reduces without a copy.

    DDP divides a bucket's gradients, and the library copies the bucket into shared memory and back.
    Here the one copy into the arena replaces these passes, and DDP reads the result there.
    """

    def __init__(self):
        self._memory = {}  # Number of the bucket -> tensor.

    def reduce(self, group, bucket):
        """A hook of DDP: the future of the bucket's means."""
        gradients = bucket.buffer()
        memory = self._memory.get(bucket.index())
        # DDP makes its buckets anew after the first step.
        if memory is None or (memory.shape, memory.dtype) != (gradients.shape, gradients.dtype):
            memory = self._memory[bucket.index()] = arena_empty(
                gradients.shape, gradients.dtype, gradients.device)
        memory.copy_(gradients)
        work = dist.all_reduce(memory, dist.ReduceOp.AVG, group=group, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])


def reduce_in_arena(model):
    """Lets a DistributedDataParallel model reduce its gradients in the arena; returns the model.

    Call it once, before the first backward, in place of model.register_comm_hook().
    """
    model.register_comm_hook(model.process_group, _Buckets().reduce)
    return model
