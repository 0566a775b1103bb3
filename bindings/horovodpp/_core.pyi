from collections.abc import Sequence


class HorovodInternalError(RuntimeError):
    """A collective failed: the ranks disagree, or one of them stalled, left, or died."""

class Operation:
    """
    A collective under way. What it works on is kept alive by whoever holds it.
    """

    def poll(self) -> bool:
        """Whether it is done."""

    def wait(self) -> object:
        """
        Sleeps until it is done and returns what it gave: None in place, (bytes, dtype, shape), a list of them, or with the splits that were received. May be called again.
        """

class ProcessSet:
    """Some ranks of a job; without arguments: all."""

    def __init__(self) -> None: ...

    @property
    def id(self) -> int: ...

    def __repr__(self) -> str: ...

def process_sets() -> list[ProcessSet]:
    """All sets of the job, by number."""

def ranks_of(process_set: ProcessSet) -> list[int]:
    """The members, ascending."""

def rank_in(process_set: ProcessSet) -> int:
    """The place of this rank among them."""

def add_process_set(ranks: Sequence[int]) -> ProcessSet:
    """Every rank of the job calls it."""

def remove_process_set(process_set: ProcessSet) -> Operation:
    """Every rank of the job calls it."""

def init(process_sets: Sequence[Sequence[int]]) -> None: ...

def shutdown() -> None: ...

def reform() -> None:
    """
    Goes on without the ranks that are lost, after the job broke. Every survivor calls it.
    """

def abort(why: str) -> None:
    """Breaks the job on every rank, because this one cannot go on."""

def is_initialized() -> bool: ...

def rank() -> int: ...

def size() -> int: ...

def local_rank() -> int: ...

def local_size() -> int: ...

def cross_rank() -> int: ...

def cross_size() -> int: ...

def is_homogeneous() -> bool: ...

def mpi_built() -> bool: ...

def keep_for_ever(thing: object) -> None: ...

def version() -> str: ...

def start_timeline(path: str) -> None: ...

def stop_timeline() -> None: ...

def allreduce(tensor: tuple[int, int, Sequence[int]], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def grouped_allreduce(tensors: Sequence[tuple[int, int, Sequence[int]]], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def reducescatter(tensor: tuple[int, int, Sequence[int]], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def grouped_reducescatter(tensors: Sequence[tuple[int, int, Sequence[int]]], name: str, op: int, prescale_factor: float, postscale_factor: float, process_set: ProcessSet) -> Operation: ...

def allgather(tensor: tuple[int, int, Sequence[int]], name: str, process_set: ProcessSet) -> Operation: ...

def grouped_allgather(tensors: Sequence[tuple[int, int, Sequence[int]]], name: str, process_set: ProcessSet) -> Operation: ...

def broadcast(tensor: tuple[int, int, Sequence[int]], root_rank: int, name: str, process_set: ProcessSet) -> Operation: ...

def alltoall(tensor: tuple[int, int, Sequence[int]], splits: Sequence[int], name: str, process_set: ProcessSet) -> Operation: ...

def join(process_set: ProcessSet) -> Operation: ...

def barrier(process_set: ProcessSet) -> Operation: ...
