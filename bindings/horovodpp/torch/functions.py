# SPDX-License-Identifier: Apache-2.0
"""Copies parameters, optimizer states and objects of one rank to all ranks."""
from __future__ import annotations

import collections
import ctypes
import pickle
from typing import Any, List, Mapping, Optional, Union

import torch

from horovodpp.common.explained import OF_A_CALL, explained
from horovodpp.common.pickling import dumps
from horovodpp.common.process_sets import ProcessSet, global_process_set
from horovodpp.torch.mpi_ops import (
    allgather_async, broadcast_, broadcast_async_, rank, synchronize)


@explained(raises={**OF_A_CALL, "ValueError": "`params` is of another type, or `root_rank` is no "
                                              "rank."},
           example="hvd.broadcast_parameters(model.state_dict(), root_rank=0)")
def broadcast_parameters(params: Union[Mapping[str, Any], List[Any]], root_rank: int) -> None:
    """Replaces the tensors on every rank with the tensors of rank `root_rank`.

    Args:
        params: a state_dict; or a list of tensors or of (name, tensor), for example
            list(model.named_parameters()).

    Raises ValueError for anything else.
    """
    if isinstance(params, dict):
        named = sorted(params.items())
    elif isinstance(params, list):
        named = [item if isinstance(item, tuple) else (None, item) for item in params]
    else:
        raise ValueError(f"invalid params of type: {type(params)}")
    handles = []
    copies = []
    for name, tensor in named:
        if not isinstance(tensor, torch.Tensor):
            continue
        target = tensor.detach()
        if not target.is_contiguous():
            target = target.contiguous()
            copies.append((tensor, target))
        handles.append(broadcast_async_(target, root_rank, name))
    for handle in handles:
        synchronize(handle)
    for tensor, target in copies:
        with torch.no_grad():
            tensor.copy_(target)


@explained(optimizer="an optimizer of torch, wrapped or not.",
           model="accepted as in Horovod.",
           example="hvd.broadcast_optimizer_state(optimizer, root_rank=0)")
def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int,
                              model: Optional[torch.nn.Module] = None) -> None:
    """Replaces the optimizer's state and options with the state and options of rank `root_rank`.

    `model` is accepted as in Horovod.
    """
    del model
    state = optimizer.state_dict()
    received = receive_optimizer_state(state, root_rank)
    if received is not state:
        optimizer.load_state_dict(received)


def receive_optimizer_state(state, root_rank):
    """The optimizer's state of rank `root_rank`, in other tensors than `state`.

    state: the state_dict of this rank's optimizer; on rank `root_rank` it is returned.
    """
    # Rank `root_rank` sends an outline of its state, and the others allocate tensors for it. So a
    # rank without a state needs no step to create one.
    shared = {key: value for key, value in state.items() if key != "compression"}
    tensors = {}
    outline = _outline(shared, tensors) if rank() == root_rank else None
    outline = broadcast_object(outline, root_rank, name="optimizer_state")
    if rank() != root_rank:
        tensors = {}
        shared = _filled(outline, tensors)
    broadcast_parameters(tensors, root_rank)
    if rank() == root_rank:
        return state
    return {**shared, "compression": state.get("compression", {})}  # Stays each rank's own.


_Tensor = collections.namedtuple("_Tensor", "key shape dtype")


def _outline(value, tensors, path="optimizer"):
    """`value` with a _Tensor in place of each tensor. Adds the tensors to `tensors`."""
    if isinstance(value, torch.Tensor):
        tensors[path] = value.detach()
        return _Tensor(path, tuple(value.shape), value.dtype)
    if isinstance(value, dict):
        return {key: _outline(item, tensors, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _like(value, [_outline(item, tensors, f"{path}.{number}")
                             for number, item in enumerate(value)])
    return value


def _like(value, items):
    """A list or tuple of `value`'s type."""
    return value._make(items) if hasattr(value, "_make") else type(value)(items)


def _filled(value, tensors):
    """Reverses _outline(), with uninitialized tensors."""
    if isinstance(value, _Tensor):
        tensors[value.key] = torch.empty(value.shape, dtype=value.dtype)
        return tensors[value.key]
    if isinstance(value, dict):
        return {key: _filled(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _like(value, [_filled(item, tensors) for item in value])
    return value


@explained(obj="the object, which pickle can send; used on rank `root_rank` only.",
           returns="The object; on rank `root_rank` the given one.",
           example="config = hvd.broadcast_object(config, root_rank=0)")
def broadcast_object(obj: Any, root_rank: int = 0, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> Any:
    """Returns a copy of the object of rank `root_rank`, sent as a pickle.

    Receive objects only from ranks you trust: unpickling can run any code.
    """
    is_root = rank() == root_rank
    data = dumps(obj) if is_root else b""
    size = torch.tensor([len(data)], dtype=torch.int64)
    broadcast_(size, root_rank, _part(name, "sz"), process_set)
    memory = (torch.frombuffer(bytearray(data), dtype=torch.uint8) if is_root
              else torch.empty(int(size), dtype=torch.uint8))
    broadcast_(memory, root_rank, _part(name, "t"), process_set)
    return obj if is_root else pickle.loads(_bytes_of(memory))


def _bytes_of(memory):
    """The tensor's bytes, without numpy, which torch does not require."""
    return ctypes.string_at(memory.data_ptr(), memory.numel())


def _part(name, part):
    """The name of a part. Unnamed calls match in order: ranks may hold different types."""
    return f"{name}.{part}" if name else None


@explained(obj="an object that pickle can send.",
           returns="A list, by rank.",
           example="names = hvd.allgather_object(socket.gethostname())")
def allgather_object(obj: Any, name: Optional[str] = None) -> List[Any]:
    """The objects of all ranks, in rank order, sent as pickles."""
    data = torch.frombuffer(bytearray(dumps(obj)), dtype=torch.uint8)
    sizes = allgather_async(torch.tensor([data.numel()], dtype=torch.int64), _part(name, "sz"))
    everything = allgather_async(data, _part(name, "t"))
    sizes = synchronize(sizes).tolist()
    everything = _bytes_of(synchronize(everything))
    objects = []
    start = 0
    for size in sizes:
        objects.append(pickle.loads(everything[start:start + size]))
        start += size
    return objects
