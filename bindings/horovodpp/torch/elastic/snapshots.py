# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a training's state on disk, from which a job starts again after all ranks are lost.

They hold the bytes of tensors, and JSON, and are loaded without unpickling.
"""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Tuple, Union

import torch

from horovodpp import _core
from horovodpp.common.explained import explained
from horovodpp.torch.dtypes import describe

_PLAIN = (bool, int, float, str, type(None))


def _packed(value, tensors, path):
    """`value` as JSON can hold it. Its tensors are added to `tensors`, as (path, tensor)."""
    if isinstance(value, torch.Tensor):
        tensors.append((path, value.detach().cpu().contiguous()))
        return {"tensor": [str(value.dtype).partition(".")[2], list(value.shape)]}
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict):
        return {"dict": [[_packed(key, tensors, path), _packed(item, tensors, f"{path}.{key}")]
                         for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_packed(item, tensors, f"{path}.{number}")
                       for number, item in enumerate(value)]}
    raise TypeError(f"'{path}' is a {type(value).__name__}: a snapshot holds tensors, numbers, "
                    "texts, None, and dicts, lists and tuples of these")


def _unpacked(value, tensors):
    """Reverses _packed(). tensors: an iterator of their bytes."""
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    if kind == "tensor":
        dtype, shape = getattr(torch, content[0]), content[1]
        data = bytearray(next(tensors))
        return (torch.frombuffer(data, dtype=dtype).reshape(shape) if data
                else torch.empty(shape, dtype=dtype))
    if kind == "dict":
        return {_unpacked(key, tensors): _unpacked(item, tensors) for key, item in content}
    items = [_unpacked(item, tensors) for item in content]
    return tuple(items) if kind == "tuple" else items


@explained(raises={"ValueError": "an option makes no sense.",
                   "OSError": "the folder cannot be written."})
class Snapshots:
    """Copies of a TorchState on disk, which survive all ranks of the job.

    Example:
        snapshots = hvd.elastic.Snapshots("/data/run7")
        state = hvd.elastic.TorchState(model, optimizer, step=0)
        snapshots.load(state)

        @hvd.elastic.run
        def train(state):
            while state.step < 1000:
                ...
                state.end_step()
                if state.step % 100 == 0:
                    snapshots.save(state, state.step)

        train(state)
        snapshots.finish()

    Each rank copies its part of the bytes, and a thread writes them while the training goes on. A
    snapshot is complete, or it does not exist. A job of any number of ranks can load it.

    Args:
        directory: a folder that all ranks reach; created if it is missing.
        each_host: the folder is each host's own, in its memory (/dev/shm) or on its disk. Each host
            keeps whole snapshots, so they outlive all processes, and all hosts but one.
        keep: the number of newest snapshots that stay.
        share_of_time: the share of the time that save() may take; it skips snapshots that would
            take more. 1: none.

    Raises OSError if the folder cannot be created, ValueError if an argument makes no sense.
    """

    def __init__(self, directory: Union[str, os.PathLike[str]], keep: int = 2,
                 share_of_time: float = 0.05, each_host: bool = False) -> None:
        self._snapshots = _core.Snapshots(str(directory), each_host, keep, share_of_time)

    def save(self, state: Any, step: int) -> None:
        """Begins a snapshot of `state`, unless it is too early. Every rank calls it.

        step: its number, equal on all ranks. A snapshot that fails later, for instance as the disk
        is full, is a warning in the log; earlier ones stay. Raises TypeError if the state has a
        value of another type than tensors, numbers, texts, None, dicts, lists and tuples.
        """
        tensors: List[Tuple[str, torch.Tensor]] = []
        packed = _packed(state.contents(), tensors, "state")
        self._snapshots.save(step, [(name, describe(tensor)) for name, tensor in tensors],
                             json.dumps(packed).encode())

    def load(self, state: Any) -> Optional[int]:
        """Takes over the newest snapshot. Returns its step, or None if there is none.

        Every rank calls it before training. In a process that joins a running job it does nothing,
        since the other ranks send their state.
        """
        if state.is_newcomer():
            return None
        newest: Any = self._snapshots.load_newest()
        if newest is None:
            return None
        step, note, tensors = newest
        state.replace_contents(_unpacked(json.loads(note), iter(tensors)))
        return step

    def finish(self) -> None:
        """Waits until the last snapshot is written. Raises OSError if that failed."""
        self._snapshots.finish()

    def stats(self) -> Dict[str, Any]:
        """A dict: snapshots begun, skipped and failed, bytes, save_seconds, write_seconds."""
        return self._snapshots.stats()
