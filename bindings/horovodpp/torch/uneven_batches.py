# SPDX-License-Identifier: Apache-2.0
"""Batches of which ranks have different numbers."""
from horovodpp.torch.functions import broadcast_optimizer_state, broadcast_parameters
from horovodpp.torch.mpi_ops import join


class _Uneven:
    def __init__(self, batches, model, optimizer):
        self._batches = batches
        self._model = model
        self._optimizer = optimizer
        self.last_rank = None  # That had batches, once there are no more.

    def __len__(self):
        return len(self._batches)

    def __iter__(self):
        yield from self._batches
        # Not where the loop is left early: an error would wait for the other ranks.
        self.last_rank = join()
        if self._model is not None:
            broadcast_parameters(self._model.state_dict(), self.last_rank)
        if self._optimizer is not None:
            broadcast_optimizer_state(self._optimizer, self.last_rank)


def uneven(batches, model=None, optimizer=None):
    """`batches`, such as a DataLoader, of which each rank may have another number, or none.

        for x, y in hvd.uneven(loader, model, optimizer):
            ...                             # The step as it was.

    A rank that has no more joins: it adds nothing to what the others reduce, until none has any
    more. Averages still divide by all ranks; optimizer.step(weight=len(x)) takes the mean over the
    samples there are. Only the last rank has taken all steps: in the end its parameters and buffers
    are given to `model` on every rank, and its state to `optimizer`.

    What this returns has the length of `batches` and, after a loop, the rank that had the last
    batch, as `last_rank`. A loop that is left by `break` has not joined: call join() after it.
    """
    return _Uneven(batches, model, optimizer)
