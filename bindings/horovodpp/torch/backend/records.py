# SPDX-License-Identifier: Apache-2.0
"""Records of the latest calls of all groups, in the format of torch's flight recorder.

torchfrtrace, the analyzer of torch, reads one file of each rank. TORCH_FR_BUFFER_SIZE is the number
of calls that a process keeps, 2000 by default; 0 keeps none. A timeout of an operation writes the
rank's file if TORCH_FR_DUMP_TEMP_FILE has the start of its name, which the rank completes.
"""
import collections
import contextlib
import itertools
import json
import os
import pathlib
import pickle
import time
import weakref

import torch
import torch.distributed as dist

_VERSION = "2.10"  # Of the format.
# The analyzer knows the names of torch's own backends only.
_ANSWERS_TO = "gloo"
# The older name was for the records of NCCL.
_FILE_VARIABLES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")

_kept: collections.deque = collections.deque(
    maxlen=int(os.environ.get("TORCH_FR_BUFFER_SIZE") or 2000))
_numbers = itertools.count()
_groups: weakref.WeakSet = weakref.WeakSet()  # That have calls in flight.


class Shapes:
    """The sizes and dtypes of the tensors of calls alike."""

    def __init__(self, kind, inputs, outputs):
        self.kind = kind
        self.inputs = _described(inputs) or _described(outputs) or ([], [])
        self.outputs = _described(outputs) or self.inputs


def _described(tensors):
    """([sizes], [dtypes]) of a tensor, of a list of tensors, or of nothing."""
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
    if not tensors:
        return None
    return ([list(tensor.shape) for tensor in tensors],
            [str(tensor.dtype).removeprefix("torch.").capitalize() for tensor in tensors])


class Place:
    """A group, for records that outlive it."""

    def __init__(self, group):
        self.ranks = group.ranks
        self.name = group.group_name
        self.description = "undefined"
        _groups.add(group)


class Record:
    """A call: `kind` of `shapes`, the `number`-th of the group's collectives or messages."""

    __slots__ = ("place", "shapes", "number", "peer", "limit", "index", "begin", "end", "error")

    def __init__(self, place, shapes, number, limit, peer=None):
        """peer: of a message, its other rank, as a rank of the group."""
        self.place = place
        self.shapes = shapes
        self.number = number
        self.limit = limit
        self.peer = peer
        self.index = next(_numbers)
        self.begin = time.time_ns()
        self.end = self.error = None
        _kept.append(self)

    def ended(self, error=None):
        self.end = time.time_ns()
        self.error = error

    def explained(self, error):
        """A TimedOut of this call, with the group's latest calls. Writes the file of records."""
        path = write_if_wanted()
        where = f" Records are in {path}." if path else ""
        return type(error)(f"{error}. {latest_of(self.place)}{where}")

    def __str__(self):
        state = "failed" if self.error else "done" if self.end else (
            f"in flight for {(time.time_ns() - self.begin) / 1e9:.1f} s")
        to = "" if self.peer is None else " with any rank" if self.peer < 0 else (
            f" with rank {self.place.ranks[self.peer]}")
        return f"{self.shapes.kind}{to} {self.shapes.outputs[0]} number {self.number} ({state})"


def latest_of(place, count=3):
    """A sentence on the group's latest calls in this process; "" without records."""
    mine = [str(record) for record in list(_kept) if record.place is place][-count:]
    return f"The latest calls of this rank in the group '{place.name}': {', '.join(mine)}." if (
        mine) else ""


def _entry(record, rank):
    shapes, place = record.shapes, record.place
    kind, is_message = shapes.kind, record.peer is not None
    if is_message:
        arrow = "->" if kind == "send" else "<-"
        kind = f"{kind} {place.ranks.index(rank)}{arrow}{record.peer}"
    return {
        "record_id": record.index, "pg_id": 0, "process_group": (place.name, place.description),
        "collective_seq_id": 0 if is_message else record.number,
        "p2p_seq_id": record.number if is_message else 0, "op_id": record.index,
        "profiling_name": f"{_ANSWERS_TO}:{kind}", "is_p2p": is_message,
        "input_sizes": shapes.inputs[0], "input_dtypes": shapes.inputs[1],
        "output_sizes": shapes.outputs[0], "output_dtypes": shapes.outputs[1],
        "state": "completed" if record.end else "scheduled", "retired": bool(record.end),
        "time_created_ns": record.begin, "time_discovered_started_ns": None,
        "time_discovered_completed_ns": record.end, "timeout_ms": int(1000 * (record.limit or 0)),
        "frames": []}


def snapshot():
    """The records as a dictionary of the format."""
    for group in list(_groups):
        group.look_at_calls_in_flight()
    kept = list(_kept)
    entries = [_entry(record, dist.get_rank()) for record in kept]
    places = {record.place.name: record.place for record in kept}
    return {"version": _VERSION, "entries": entries, "pg_config": {
        name: {"name": name, "desc": place.description, "ranks": str(place.ranks)}
        for name, place in places.items()}}


def write_records(start, as_json=False):
    """Writes this rank's records into the file whose name is `start` and the rank; returns its
    path. `torchfrtrace FOLDER` reads such files of all ranks."""
    path = pathlib.Path(f"{start}{dist.get_rank()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    content = snapshot()
    path.write_bytes(json.dumps(content).encode() if as_json else pickle.dumps(content))
    return path


def write_if_wanted():
    """Writes the records after a timeout, if the environment names a file. Never raises."""
    start = next((os.environ[name] for name in _FILE_VARIABLES if os.environ.get(name)), None)
    with contextlib.suppress(OSError):
        return start and write_records(start)
