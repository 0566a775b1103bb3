# SPDX-License-Identifier: Apache-2.0
"""Ordinary lines of programs, in which `mypy --strict` finds no error. Not run."""
from typing import List

import torch

import horovodpp
import horovodpp.torch as hvd
from horovodpp.torch.elastic import TorchState


def train() -> float:
    hvd.init()
    rank: int = hvd.rank()
    model = torch.nn.Linear(3, 2)
    base = torch.optim.SGD(model.parameters(), lr=0.1 * hvd.size())
    optimizer = hvd.DistributedOptimizer(base, model.named_parameters(),
                                         compression=hvd.Compression.fp16)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    loss = model(torch.ones(1, 3)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.synchronize()
    with optimizer.skip_synchronize():
        optimizer.step()
    mean: torch.Tensor = hvd.allreduce(loss, name="loss", op=hvd.Sum)
    handle: int = hvd.allreduce_async(loss)
    hvd.synchronize(handle)
    rows = hvd.alltoall(torch.ones(hvd.size()))
    rows, received = hvd.alltoall(torch.ones(hvd.size()), [1] * hvd.size())
    everything: List[torch.Tensor] = hvd.grouped_allreduce([loss, loss])
    few = hvd.add_process_set([0])
    if few.included():
        hvd.barrier(process_set=few)
    for batch in hvd.uneven([1, 2, 3]):
        print(batch + rank)
    with hvd.span("x"):
        pass
    obj = hvd.broadcast_object({"a": 1}, root_rank=0)
    state = TorchState(model, optimizer, epoch=0)
    state.epoch += 1
    state.commit()
    report = hvd.verify(model, (mean, rows, received, everything))
    print(bool(report), obj)
    hvd.shutdown()
    return float(mean)


losses = horovodpp.run(train, num_proc=2)


def idiom() -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    optimizer.synchronize()
    optimizer.step(max_norm=1.0)
    for group in optimizer.param_groups:
        group["lr"] = 0.1


@hvd.elastic.run
def resume(state: TorchState) -> int:
    return int(state.epoch)


def arrays() -> None:
    mean = horovodpp.allreduce([1.0, 2.0], name="mean")
    horovodpp.synchronize(horovodpp.allreduce_async(mean))
    print(horovodpp.run_ranks(2, horovodpp.rank)[0] + 1)
