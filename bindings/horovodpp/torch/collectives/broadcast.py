# SPDX-License-Identifier: Apache-2.0
"""Broadcast: copies one rank's tensor to every rank."""
from __future__ import annotations

from typing import Optional

import torch

from horovodpp import _core
from horovodpp.common import basics, handles
from horovodpp.common.arguments import check_root, wire
from horovodpp.common.explained import OF_A_START, explained
from horovodpp.common.ops import Average
from horovodpp.common.handles import wait_for
from horovodpp.common.process_sets import ProcessSet, global_process_set, member
from horovodpp.torch.collectives.allreduce import allreduce_async
from horovodpp.torch.collectives.arguments import check_tensor, detached, written_in_place
from horovodpp.torch.dtypes import describe_moved, from_result


@explained(tensor="contiguous, of any dtype; of one shape and dtype on all ranks.",
           returns="A handle, an int, for poll() and synchronize(), which returns a new "
                   "tensor.",
           raises=OF_A_START,
           example="seed = hvd.synchronize(hvd.broadcast_async(seed, root_rank=0, "
                   "name=\"seed\"))")
def broadcast_async(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts a broadcast into a new tensor. Returns a handle for poll() and synchronize()."""
    core = member("Broadcast", process_set)
    check_root(root_rank, process_set)
    tensor = detached(tensor)
    key = handles.claim("broadcast", name, core)
    operation = _core.broadcast(describe_moved(tensor), root_rank, wire(name), core)
    return handles.add(operation, from_result, tensor, key)


@explained(tensor="contiguous, of any dtype; of one shape and dtype on all ranks. Leave "
                  "it alone until it is synchronized.",
           returns="A handle, an int, for poll() and synchronize(), which returns the tensor.",
           raises=OF_A_START,
           example='hvd.synchronize(hvd.broadcast_async_(weight, root_rank=0, name="weight"))')
def broadcast_async_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> int:
    """Starts a broadcast in place. Returns a handle for poll() and synchronize()."""
    core = member("Broadcast", process_set)
    check_root(root_rank, process_set)
    check_tensor(tensor)
    key = handles.claim("broadcast", name, core)
    operation = _core.broadcast_(describe_moved(tensor), root_rank, wire(name), core)
    return handles.add(operation, written_in_place, tensor, key)


@explained(tensor="contiguous, of any dtype; of one shape and dtype on all ranks.",
           returns="The tensor.",
           example='hvd.broadcast_(weight, root_rank=0, name="weight")')
def broadcast_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
               process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Replaces the elements with the elements of rank `root_rank`, and returns the tensor."""
    return wait_for(broadcast_async_, tensor, root_rank, name, process_set)


class HorovodBroadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.root_rank = root_rank
        ctx.process_set = process_set
        return wait_for(broadcast_async, tensor, root_rank, name, process_set)

    @staticmethod
    def backward(ctx, grad):
        grad = wait_for(allreduce_async, grad.contiguous(), op=Average,
                        process_set=ctx.process_set)
        if basics.rank() != ctx.root_rank:
            grad = torch.zeros_like(grad)
        return grad, None, None, None


@explained(tensor="contiguous, of any dtype; of one shape and dtype on all ranks.",
           returns="A new tensor.",
           example="seed = hvd.broadcast(seed, root_rank=0)")
def broadcast(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Returns a copy of the tensor of rank `root_rank` of the job; shapes must be equal.

    On that rank the gradient is the mean of the ranks' gradients, elsewhere 0.
    """
    return HorovodBroadcast.apply(tensor, root_rank, name, process_set)
