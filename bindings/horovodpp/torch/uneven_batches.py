# SPDX-License-Identifier: Apache-2.0
"""Loops in which ranks have different numbers of batches."""
from __future__ import annotations

from typing import Generic, Iterable, Iterator, Optional, TypeVar

import torch

from horovodpp.common.explained import explained
from horovodpp.torch.functions import broadcast_optimizer_state, broadcast_parameters
from horovodpp.torch.mpi_ops import join


Batch = TypeVar("Batch")


class _Uneven(Generic[Batch]):
    def __init__(self, batches: Iterable[Batch], model: Optional[torch.nn.Module],
                 optimizer: Optional[torch.optim.Optimizer]) -> None:
        self._batches = batches
        self._model = model
        self._optimizer = optimizer
        self.last_rank: Optional[int] = None  # The last rank that had batches, after the loop.

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Batch]:
        yield from self._batches
        # Not if the loop is left early: an exception would then wait for the other ranks.
        self.last_rank = join()
        if self._model is not None:
            broadcast_parameters(self._model.state_dict(), self.last_rank)
        if self._optimizer is not None:
            broadcast_optimizer_state(self._optimizer, self.last_rank)


@explained(batches="any iterable, such as a DataLoader.",
           model="the model that gets the last rank's parameters and buffers.",
           optimizer="the optimizer that gets the last rank's state.",
           returns="An iterable over the batches.")
def uneven(batches: Iterable[Batch], model: Optional[torch.nn.Module] = None,
           optimizer: Optional[torch.optim.Optimizer] = None) -> _Uneven[Batch]:
    """Wraps `batches`, such as a DataLoader. Ranks may have different numbers of them, or none.

        for x, y in hvd.uneven(loader, model, optimizer):
            ...                             # Your training step, unchanged.

    A rank without further batches joins: it adds nothing to the others' reductions until all ranks
    have finished. Averages still divide by the number of all ranks; optimizer.step(weight=len(x))
    takes the mean over the existing samples. Only the last rank has taken all steps. After the
    loop, `model` on every rank gets that rank's parameters and buffers, and `optimizer` gets its
    state.

    The result has the length of `batches` and, after a loop, the attribute `last_rank`: the rank
    that had the last batch. A loop that is left by `break` has not joined: call join() after it.
    """
    return _Uneven(batches, model, optimizer)
