# SPDX-License-Identifier: Apache-2.0
"""Training that survives lost ranks.

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, 90):
            ...
            state.commit()

    train(hvd.elastic.TorchState(model, optimizer, epoch=0))

When a rank dies, the others continue without it. They restore their last commit, call the reset
callbacks, copy the state of the rank that got furthest and call train() again. If another rank
dies meanwhile, they start over. `horovodrun --min-np`, `--max-np` and `--spares` start new ranks,
which get the state of the others at a commit. With TorchState.end_step() after each step, and no
commits, survivors repeat one step at most. Other exceptions of train() are raised, and so is
InvalidCallError, which would recur.
"""
from __future__ import annotations

from typing import Any, Callable, TYPE_CHECKING, TypeVar

from horovodpp.common.elastic import ObjectState as _ObjectState
from horovodpp.common.elastic import State, run_fn
from horovodpp.common.explained import OUTSIDE_OF_A_JOB, explained
from horovodpp.torch.elastic.sampler import ElasticSampler
from horovodpp.torch.elastic.sharded_step import ShardedIndices, ShardedStep
from horovodpp.torch.elastic.snapshots import Snapshots
from horovodpp.torch.elastic.state import TorchState
from horovodpp.torch.functions import broadcast_object
from horovodpp.torch.mpi_ops import rank

Result = TypeVar("Result")


@explained(kwargs="the values, by name.",
           raises=OUTSIDE_OF_A_JOB,
           example="state = hvd.elastic.ObjectState(epoch=0, batch=0)")
class ObjectState(_ObjectState):
    """A state of attributes that can be pickled: ObjectState(epoch=0, batch=0)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(broadcast_object, rank, **kwargs)

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...


@explained(func="a function whose first argument is a State.",
           returns="The function that goes on: call it with a State.",
           raises={"InvalidCallError": "the function made a call that would fail again.",
                   "RuntimeError": "all ranks that had the state are lost."},
           example="""
               @hvd.elastic.run
               def train(state):
                   ...
               
               train(hvd.elastic.TorchState(model, optimizer, epoch=0))""")
def run(func: Callable[..., Result]) -> Callable[..., Result]:
    """Makes func(state, ...) continue from the state's last commit when ranks are lost."""
    return run_fn(func)


__all__ = ["ElasticSampler", "ObjectState", "ShardedIndices", "ShardedStep", "Snapshots", "State",
           "TorchState", "run"]
