from collections.abc import Callable, Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


class HorovodInternalError(RuntimeError):
    """A collective failed: a rank stalled, left or died; or it was an InvalidCallError."""

class InvalidCallError(HorovodInternalError, ValueError):
    """A call that would fail again."""

def address_of(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]) -> int:
    """The address of a result's memory, on any device."""

class AtOnce:
    """
    A scope in which this thread waits at once for each submission. So no other thread is woken.
    """

    def __init__(self) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *args) -> None: ...

class Operation:
    """A collective in flight. Its holder keeps its memory alive."""

    def poll(self) -> bool:
        """Whether the collective is done."""

    def order(self, stream: int) -> None:
        """
        Makes `stream` wait for the collective, once that is in a stream of its GPU.
        """

    def wait(self, timeout_seconds: float | None = None) -> object:
        """
        Sleeps until the collective is done, and returns the result: None in place, (bytes, dtype, shape), a list of these, or one with the received splits. May be called again. Raises TimeoutError after the timeout, with a text that names the missing ranks; the collective stays in flight.
        """

    def source(self) -> object:
        """The rank that has sent what this receive has received."""

class ProcessSet:
    """Some ranks of a job; without arguments: all ranks."""

    def __init__(self) -> None: ...

    @property
    def id(self) -> int: ...

    def __repr__(self) -> str: ...

def process_sets() -> list[ProcessSet]:
    """All sets of the job, by number."""

def ranks_of(process_set: ProcessSet) -> list[int]:
    """The ranks of the set, ascending."""

def rank_in(process_set: ProcessSet) -> int:
    """
    The position of this rank in the set. Raises ValueError if it is not in the set.
    """

def add_process_set(ranks: Sequence[int]) -> ProcessSet:
    """Adds a set of `ranks`, and returns it. Every rank of the job calls it."""

def new_process_set(ranks: Sequence[int], key: str) -> ProcessSet:
    """
    Creates a set of `ranks`, which its members alone call; returns once all of them have. `key` tells apart sets of the same ranks.
    """

def free_process_set(process_set: ProcessSet) -> Operation:
    """Starts to remove the set. Its members alone call it."""

def remove_process_set(process_set: ProcessSet) -> Operation:
    """Starts to remove the set. Every rank of the job calls it."""

class Meeting:
    """The meeting point of a job's ranks; open until it is deleted."""

    def __init__(self, size: int) -> None: ...

    @property
    def place(self) -> str: ...

    @property
    def key(self) -> str: ...

def init(process_sets: Sequence[Sequence[int]], place: tuple[str, str, int, int] | None = None) -> None:
    """
    Enters a job with these process sets. `place`: (place, key, rank, size) of a Meeting; None: as the launcher's variables say.
    """

def shutdown() -> None: ...

def reform() -> None:
    """
    Replaces a broken job by a job without the lost ranks. Every survivor calls it.
    """

def waiting_newcomers() -> int:
    """
    The number of waiting processes that grow() would take; 0 on ranks other than 0.
    """

def grow() -> str | None:
    """
    Continues with the newcomers that wait. Every rank calls it. Returns None, or why the job continues as before.
    """

def run_ranks(ranks: int, body: Callable) -> None:
    """
    Starts a job of `ranks` threads, calls `body` in each, and waits for all.
    """

def abort(why: str) -> None:
    """Breaks the job on every rank, because this rank cannot continue."""

def start_timeline(path: str, mark_cycles: bool) -> None: ...

def stop_timeline() -> None: ...

def mark_step() -> None: ...

def metrics() -> dict:
    """This rank's metrics: for each name the list of its series."""

def begin_span(work: str) -> None:
    """Begins a span of this thread in the timeline."""

def end_span(work: str) -> None:
    """Ends it, and those that this thread began later."""

def is_initialized() -> bool: ...

def rank() -> int: ...

def size() -> int: ...

def local_rank() -> int: ...

def local_size() -> int: ...

def cross_rank() -> int: ...

def cross_size() -> int: ...

def is_homogeneous() -> bool: ...

def mpi_built() -> bool: ...

def cuda_built() -> bool: ...

def nccl_built() -> int: ...

CPU: int = -1

def gpu_of(address: int) -> int:
    """
    The index of the GPU that holds this memory. Raises ValueError for other memory.
    """

def keep_for_ever(thing: object) -> None: ...

def version() -> str: ...

def allreduce(tensor: tuple[int, int, Sequence[int], int, int], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def grouped_allreduce(tensors: Sequence[tuple[int, int, Sequence[int], int, int]], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def reducescatter(tensor: tuple[int, int, Sequence[int], int, int], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def grouped_reducescatter(tensors: Sequence[tuple[int, int, Sequence[int], int, int]], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def reduce(tensor: tuple[int, int, Sequence[int], int, int], root_rank: int, name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def allgather(tensor: tuple[int, int, Sequence[int], int, int], name: str, process_set: ProcessSet) -> Operation: ...

def grouped_allgather(tensors: Sequence[tuple[int, int, Sequence[int], int, int]], name: str, process_set: ProcessSet) -> Operation: ...

def broadcast(tensor: tuple[int, int, Sequence[int], int, int], root_rank: int, name: str, process_set: ProcessSet) -> Operation: ...

def gather(tensor: tuple[int, int, Sequence[int], int, int], root_rank: int, name: str, process_set: ProcessSet) -> Operation: ...

def alltoall(tensor: tuple[int, int, Sequence[int], int, int], splits: Sequence[int], name: str, process_set: ProcessSet) -> Operation: ...

def scatter(tensor: tuple[int, int, Sequence[int], int, int], root_rank: int, splits: Sequence[int], name: str, process_set: ProcessSet) -> Operation: ...

def send(tensor: tuple[int, int, Sequence[int], int, int], to_rank: int, tag: int, process_set: ProcessSet) -> Operation:
    """
    Sends the tensor to a rank of the job, a member of the set. Done once that rank has received it.
    """

def receive(tensor: tuple[int, int, Sequence[int], int, int], from_rank: int, tag: int, process_set: ProcessSet) -> Operation:
    """
    Receives into the tensor, from a rank of the job, a member of the set, or from any (-1). The result is the rank that has sent.
    """

def join(process_set: ProcessSet) -> Operation: ...

def barrier(process_set: ProcessSet) -> Operation: ...

class Handles:
    """The numbers of operations in flight, and their names."""

    def __init__(self) -> None: ...

    def tell_ranks_apart(self, are_threads: bool) -> None: ...

    def claim(self, what: str, name: str, process_set: ProcessSet) -> str:
        """The key of a name, for add()."""

    def add(self, operation: object, finish: object | None, keep: object | None, key: str | None) -> int: ...

    def poll(self, handle: object | None) -> bool: ...

    def synchronize(self, handle: object | None) -> object: ...

    def order(self, handle: object | None, stream: int) -> None: ...

    def free_name(self, handle: object | None) -> None: ...

    def forget_all(self) -> None: ...

    def keep_those_in_flight(self) -> None: ...

class PlainTensors:
    """
    Collectives on contiguous tensors on the CPU, of these classes of a framework and of a dtype that the library has.
    """

    def __init__(self, table: object, types: tuple, is_lazy: str) -> None: ...

    def start_allreduce(self, handles: Handles, tensor: object | None, name: object | None, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet, finish: object | None) -> int | None:
        """A handle; None if the tensor is another."""

    def start_grouped_allreduce(self, handles: Handles, tensors: list, name: object | None, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet, finish: object | None) -> int | None:
        """A handle; None if a tensor is another."""

def arena_alloc(bytes: int) -> object:
    """
    Uninitialized bytes as a uint8 array: in the job's arena, or elsewhere without a job or room.
    """

def arena_alloc_on(gpu: int, bytes: int) -> object:
    """Uninitialized bytes on GPU `gpu` as a uint8 array, for the job."""

def is_in_arena(address: int, bytes: int) -> bool: ...

def keep_freed_memory() -> bool:
    """
    Makes malloc() keep up to 256 MiB of freed memory for the next gradients. Returns whether that succeeded.
    """

class CapturedStep:
    """A step that `capture` recorded from a stream."""

    def replay(self) -> Operation:
        """Starts a replay of the step; returns an Operation."""

def capture(step: Callable, name: str, gpu: int, stream: int, process_set: ProcessSet) -> CapturedStep:
    """Calls `step`, and records its work in `stream` of GPU `gpu`."""

class Completions:
    """Operations in flight whose end one thread awaits."""

    def __init__(self) -> None: ...

    def watch(self, operation: Operation, number: int) -> None:
        """Lets next() return `number` once the operation is done."""

    def wake(self, number: int) -> None:
        """Lets next() return `number`."""

    def next(self, seconds: float) -> list[int]:
        """
        Sleeps until operations are done, for at most `seconds`. Returns their numbers, in the order in which they ended.
        """

class Exchange:
    """Gradients in flight."""

    def finish(self) -> None:
        """Waits, and writes the reduced gradients over the sent ones."""

class Compressor:
    """
    Sends float32 gradients in fewer bytes. Adds the omitted part to the next gradient of the same key.
    """

    def start(self, gradients: Sequence[tuple[str, tuple[int, int, Sequence[int], int, int]]], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Exchange: ...

    def state(self) -> list:
        """The saved state: (name, bytes of float32) of each '<key>.<part>'."""

    def load_state(self, state: Sequence[tuple[str, tuple[int, int, Sequence[int], int, int]]]) -> None:
        """Replaces the saved state: (name, tensor of float32)."""

def int8_blocks() -> Compressor: ...

def top_k(share: float, momentum: float, warmup_steps: int, warmup_share: float, mask_velocity: bool, whole_below: int, max_norm: float) -> Compressor: ...

def signs(momentum: float, warmup_steps: int) -> Compressor: ...

def power_sgd(rank: int) -> Compressor: ...

def compare_dry_steps(parameters: Sequence[tuple[str, str, tuple[int, int, Sequence[int], int, int], tuple[int, int, Sequence[int], int, int] | None, bool, bool, int]], buffers: Sequence[tuple[str, str, tuple[int, int, Sequence[int], int, int], tuple[int, int, Sequence[int], int, int] | None, bool, bool, int]], loss: float, is_loss_reproduced: bool, seconds: float, peak_bytes: int) -> tuple[list[str], list[str], str]:
    """(problems, notes, summary). All ranks call it."""

def most(numbers: bytes, name: str, process_set: ProcessSet) -> bytes:
    """Waits for the maximum over the set's ranks of each byte."""

class ContributionState(enum.Enum):
    """The state of a gradient after a contribution."""

    MORE = 0

    COMPLETE = 1

    HELD = 2

    LATE = 3

class Due(enum.Enum):
    """The gradients to be sent now."""

    NOTHING = 0

    ITSELF = 1

    GROUP = 2

    HELD = 3

    BUCKET = 4

def best_bucket_bytes(local_ranks: int, ranks: int, threads: int) -> int:
    """The best bucket_bytes if each rank computes with `threads`."""

class GradientLedger:
    """
    The bookkeeping of an optimizer's gradients, which are numbered. See horovodpp/replica/gradient_ledger.h.
    """

    def __init__(self, bucket_bytes: int = 0) -> None: ...

    def enter(self, name: str) -> int: ...

    def expect_of_all(self, contributions: int) -> None: ...

    def add_group(self, members: Sequence[int]) -> int: ...

    def set_in_group(self, i: int, is_in_group: bool) -> None: ...

    def is_taken(self, i: int) -> bool: ...

    def count(self, i: int) -> ContributionState: ...

    def forget_contributions(self) -> None: ...

    def expect_late_part(self, i: int) -> bool: ...

    def is_nested(self, i: int) -> bool: ...

    def learn_parts(self) -> None: ...

    def parts(self, i: int) -> int: ...

    def complete(self, i: int, bytes: int | None, is_nested: bool = False) -> Due: ...

    def group_of(self, i: int) -> int: ...

    def take_group(self, group: int) -> list[int]: ...

    def waiting_groups(self) -> list[int]: ...

    def release(self) -> list[int]: ...

    def mark_sent(self, i: int) -> None: ...

    def facts(self, gradients: Sequence[int], exist: Sequence[int]) -> bytes: ...

    def agree(self, gradients: Sequence[int], facts: bytes) -> tuple:
        """
        Returns (gradients with a late part on some rank, whether every rank holds all complete gradients).
        """

    def rest(self, gradients: Sequence[int]) -> list[int]: ...

    def reset(self) -> None: ...

class ShardSum:
    """
    The mean of tensors over virtual shards, whose bits do not depend on the number of ranks. Belongs to one job.
    """

    def __init__(self, shards: int, name: str) -> None: ...

    def owned(self) -> tuple[int, int]:
        """(first, last + 1) of this rank's shards."""

    def add(self, shard: int, tensors: Sequence[tuple[int, int, Sequence[int], int, int]]) -> None:
        """Copies a shard's tensors. Shards come in order."""

    def finish(self, results: Sequence[tuple[int, int, Sequence[int], int, int]]) -> None:
        """Writes the means; blocks. All ranks call it."""

    def clear(self) -> None:
        """Drops the shards added."""

class Snapshots:
    """Copies of a job's state on disk, which survive all of its ranks."""

    def __init__(self, directory: str, each_host: bool, keep: int, share_of_time: float) -> None: ...

    def save(self, step: int, values: Sequence[tuple[str, tuple[int, int, Sequence[int], int, int]]], note: bytes) -> None:
        """Begins a snapshot, or skips it. All ranks call it."""

    def finish(self) -> None:
        """Waits until the last snapshot is written. Raises OSError."""

    def load_newest(self) -> object:
        """(step, note, the bytes of the values), or None. All ranks call it."""

    def stats(self) -> dict:
        """Counts of snapshots, bytes and seconds."""

# The generator leaves out names that end in _.
allreduce_ = allreduce
broadcast_ = broadcast
grouped_allreduce_ = grouped_allreduce
reduce_ = reduce
