# SPDX-License-Identifier: Apache-2.0
"""The rows of the table that compare_with_peers.py fills: the works of each contender, and
horovodpp's targets."""

import pathlib
import sys
from dataclasses import dataclass

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "faults"))
from hosts import bits_per_second  # noqa: E402

KIB, MIB = 2**10, 2**20


@dataclass(frozen=True)
class Target:
    """At most `factor` times the reference's time of the same round, plus `plus_us`."""
    factor: float
    reference: str = "MPI"  # Or "memcpy", "wire", or "" for none.
    plus_us: float = 0

    def limit(self, reference_us):
        return self.factor * (reference_us or 0) + self.plus_us

    def __str__(self):
        if not self.reference:
            return f"≤ {in_words(self.plus_us)}"
        if self.plus_us:
            return f"≤ {self.reference} + {in_words(self.plus_us)}"
        return f"≤ {self.factor:g} × {self.reference}"


@dataclass(frozen=True)
class Row:
    """`own` and `peers` are works as harness.h reads them. MPI does the peers' work; gloo and
    Horovod do as well if they can. A row that is `alone` has its own job."""
    setting: str  # One of SETTINGS.
    name: str
    own: str
    peers: str
    target: Target | None = None
    alone: bool = False
    is_first: bool = False  # Measures the first step, not later ones.
    memcpy: str = ""  # The work of the target's reference,
    wire_us: float = 0  # or its time.

    def reason(self):
        """Why a target is missed; empty if unknown."""
        return REASONS.get((self.setting, self.name.removesuffix(", into")), "")


@dataclass(frozen=True)
class Setting:
    title: str
    ranks: int
    hosts: int = 1
    rate: str = ""  # Of each host's link, both ways, as tc writes it; "": no limit.

    def wire_us(self, size):
        """The link time of an allreduce of `size` bytes per rank, with one rank per host."""
        crossing = 2 * (self.hosts - 1) / self.hosts * size
        return crossing * 8 / bits_per_second(self.rate) * 1e6


SETTINGS = {
    "two": Setting("2 ranks", 2),
    "four": Setting("4 ranks on {cores}", 4),
    "hosts": Setting("2 ranks on two hosts", 2, hosts=2),
    "100mbit": Setting("2 ranks on two hosts, 100 Mbit/s", 2, 2, "100mbit"),
    "1gbit": Setting("2 ranks on two hosts, 1 Gbit/s", 2, 2, "1gbit"),
    "10gbit": Setting("2 ranks on two hosts, 10 Gbit/s", 2, 2, "10gbit"),
    "three": Setting("3 ranks on three hosts, 1 Gbit/s", 3, 3, "1gbit"),
}


COPIED = "copied into the node's memory and back, which the arena saves"
COPIED_ALIKE = ("each byte is copied into the node's memory and out of it, as with MPI; memory in"
                " the arena is copied once")
STREAMED = ("the call only copies, as MPI's does; the fastest copy of this memory was not "
            "measured beside it")
RECEIVED = ("the root copies each byte into the node's memory while the receiver copies the bytes"
            " before it, as with MPI; memory in the arena is copied once")
NOTHING_DONE = ("no thread wakes: MPI's column, in which MPI is idle, shows the cost of the "
                "measurement itself")
LOOKED_AT = ("messages from another host ring no doorbell: an idle rank looks every 50 ms, and "
             "five times after each heartbeat")
LAUNCHED = ("the launcher starts three processes one after the other, and a rank loads Highway's "
            "library, which measures a clock for 3.5 ms; its own start takes 4 ms")
AGREED = ("a call takes 1,600 instructions by handle, 2,500 by name: it counts its arrival, looks"
          " for mail and agreement, and can be given up. MPI's does none of this")
NOT_FOUND = "the cause is unknown"
COUNTED = ("each tensor is submitted and counted separately, before all go as one call; the peers"
           " make one call")
SUBMITTED = "each tensor is submitted, counted and completed separately, with its own future"
SCATTERED = (SUBMITTED + "; the record of a name is 1 to 2 KB, and in random order it is in no near cache "
             "when it is used: twice the processor time of the same names in order")
LEARNED = ("ranks tell each other every name once, and give it a number: for rank 0 that takes "
           "18,000 instructions and 2 KB of new memory a name, besides the call's 5,400")
HEADERS = ("headers of TCP, IP and Ethernet take 4.4 % of the link, and acknowledgments up to 2.2"
           " %; gloo's column shows the same")
REASONS = {
    ("100mbit", "allreduce 1 MiB"): HEADERS,
    ("100mbit", "allreduce 4 MiB"): HEADERS,
    ("1gbit", "allreduce 4 MiB"): HEADERS,
    ("1gbit", "allreduce 16 MiB"): HEADERS,
    ("1gbit", "allreduce 64 MiB"): HEADERS,
    ("three", "allreduce 4 MiB"): HEADERS,
    ("three", "allreduce 16 MiB"): HEADERS,
    ("two", "allreduce 4 B"): AGREED,
    ("two", "allreduce 4 B by handle"): AGREED,
    ("two", "barrier"): AGREED,
    ("two", "1,000 x 1 KiB by name (peers: fused)"): COUNTED,
    ("two", "1,000 x 1 KiB by handle (peers: fused)"): COUNTED,
    ("two", "1,000 x 1 KiB by name, a metric every 10 steps (peers: fused)"): COUNTED,
    ("two", "10,000 x 1 KiB by name (peers: by tensor)"): SUBMITTED,
    ("two", "10,000 x 1 KiB by handle (peers: by tensor)"): SUBMITTED,
    ("two", "10,000 x 1 KiB by name, in random order (peers: by tensor)"): SCATTERED,
    ("two", "100,000 x 1 KiB by name (peers: by tensor)"): SUBMITTED,
    ("two", "10,000 x 1 KiB by name, first step"): LEARNED,
    ("two", "allgather 64 KiB"): COPIED_ALIKE,
    ("two", "allgather 1 MiB"): COPIED_ALIKE,
    ("two", "allgather 64 MiB"): STREAMED,
    ("two", "alltoall 64 MiB"): STREAMED,
    ("two", "broadcast 1 MiB"): RECEIVED,
    ("two", "broadcast 64 MiB"): RECEIVED,
    ("two", "processor time, 2 s idle"): NOTHING_DONE,
    ("two", "allreduce 64 KiB"): COPIED,
    ("two", "allreduce 1 MiB"): COPIED,
    ("two", "allreduce 64 MiB"): COPIED,
    ("two", "hello, from start to end"): LAUNCHED,
    ("four", "allreduce 4 B"): AGREED,
    ("four", "allreduce 4 B by handle"): AGREED,
    ("four", "allgather 16 MiB"): COPIED_ALIKE,
    ("four", "alltoall 16 MiB"): STREAMED,
    ("hosts", "allreduce 64 B"): NOT_FOUND,
    ("hosts", "allreduce 64 B by handle"): NOT_FOUND,
    ("hosts", "processor time, 2 s idle"): LOOKED_AT,
}


def in_words(us):
    """A time with three digits."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= 0.9995 * factor:
            return f"{us / factor:.3g} {unit}"
    if us >= 1:
        return f"{us:.3g} µs"
    return f"{us:.2f} µs"


def sized(size):
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def allreduce(setting, size, target=None, form="name"):
    how = {"name": "", "handle": " by handle", "arena": ", arena"}[form]
    return Row(setting, f"allreduce {sized(size)}{how}", f"allreduce.{form}:{size}",
               f"allreduce.each:{size}", target)


def many(setting, tensors, form, target, peers="each", alone=True):
    how = {"name": "by name", "handle": "by handle",
           "shuffled": "by name, in random order",
           "extra": "by name, a metric every 10 steps", "group": "as one group"}[form]
    beside = "by tensor" if peers == "each" else "fused"
    return Row(setting, f"{tensors:,} x 1 KiB {how} (peers: {beside})",
               f"allreduce.{form}:1024x{tensors}", f"allreduce.{peers}:1024x{tensors}",
               target, alone)


def moving(setting, operation, size, target=None):
    """Into memory that the call returns, and into memory that is kept."""
    for form, how in (("new", ""), ("into", ", into")):
        yield Row(setting, f"{operation} {sized(size)}{how}", f"{operation}.{form}:{size}",
                  f"{operation}.into:{size}", target)


def on_one_node():
    yield allreduce("two", 4, Target(2))
    yield allreduce("two", 4, Target(1), "handle")
    yield Row("two", "barrier", "barrier.name:0", "barrier.each:0", Target(2))
    yield many("two", 10, "name", None, alone=False)
    yield many("two", 100, "name", None, alone=False)
    # 0.8 ms; MPI takes 0.42.
    yield many("two", 1000, "name", Target(1.9), "fused", alone=False)
    yield many("two", 1000, "handle", Target(1), "fused", alone=False)
    yield many("two", 1000, "extra", Target(1.9), "fused", alone=False)
    yield many("two", 1000, "group", None, "fused", alone=False)
    # 10 ms and 150 ms; MPI takes 13.6 and 158.
    yield many("two", 10000, "name", Target(0.74))
    yield many("two", 10000, "handle", Target(0.74))
    yield many("two", 10000, "shuffled", Target(0.74))
    yield many("two", 10000, "group", None, "fused")
    yield many("two", 100000, "name", Target(0.95))
    yield Row("two", "10,000 x 1 KiB by name, first step", "allreduce.name:1024x10000",
              "allreduce.each:1024x10000", Target(0, "", 50_000), alone=True, is_first=True)
    for size in (4 * KIB, 64 * KIB, MIB, 64 * MIB):
        yield from moving("two", "allgather", size, Target(0.8) if size > 4 * KIB else None)
    for size in (64 * KIB, 64 * MIB):
        yield from moving("two", "alltoall", size, Target(0.8))
    for size in (64 * KIB, MIB, 64 * MIB):
        yield Row("two", f"broadcast {sized(size)}", f"broadcast.name:{size}",
                  f"broadcast.each:{size}", Target(0.8))
    for size in (MIB, 64 * MIB):
        yield from moving("two", "reducescatter", size)
    for form in ("name", "arena"):
        where = ", arena" if form == "arena" else ""
        for size in (64 * KIB, MIB):
            yield allreduce("two", size, Target(0.6), form)
        # 13 ms; memcpy takes 13.9.
        yield Row("two", f"allreduce 64 MiB{where}", f"allreduce.{form}:{64 * MIB}",
                  f"allreduce.each:{64 * MIB}", Target(0.93, "memcpy"),
                  memcpy=f"memory.copy:{64 * MIB}")
        yield Row("two", f"allreduce 64 MiB{where}, first step",
                  f"allreduce.{form}:{64 * MIB}", f"allreduce.each:{64 * MIB}",
                  alone=True, is_first=True)
    yield Row("two", "processor time, 2 s idle", "idle.name:4", "idle.each:4",
              Target(0, "", 30))
    yield Row("two", "processor time, 0.3 s waiting for a late rank", "late.name:4",
              "late.each:4")


def on_few_cores():
    yield allreduce("four", 4, Target(1))
    yield allreduce("four", 4, Target(1), "handle")
    yield Row("four", "barrier", "barrier.name:0", "barrier.each:0")
    # 3 ms; MPI takes 11.
    yield many("four", 1000, "name", Target(0.27), alone=False)
    yield many("four", 1000, "handle", Target(0.27), alone=False)
    for size in (64 * KIB, MIB, 64 * MIB):
        yield allreduce("four", size)
    for operation in ("allgather", "alltoall"):
        yield from moving("four", operation, 16 * MIB, Target(0.8))


def between_hosts():
    for size in (64, 16 * KIB, 256 * KIB, 4 * MIB):
        yield allreduce("hosts", size, Target(1.1) if size < MIB else None)
    yield allreduce("hosts", 64, Target(1.1), "handle")
    yield Row("hosts", "barrier", "barrier.name:0", "barrier.each:0")
    yield many("hosts", 1000, "name", None, alone=False)
    yield from moving("hosts", "allgather", MIB)
    yield Row("hosts", "processor time, 2 s idle", "idle.name:4", "idle.each:4")


def on_limited_links():
    sizes = {"100mbit": (MIB, 4 * MIB), "1gbit": (MIB, 4 * MIB, 16 * MIB, 64 * MIB),
             "10gbit": (MIB, 4 * MIB, 16 * MIB, 64 * MIB), "three": (MIB, 4 * MIB, 16 * MIB)}
    for setting, of_setting in sizes.items():
        for size in of_setting:
            yield Row(setting, f"allreduce {sized(size)}", f"allreduce.name:{size}",
                      f"allreduce.each:{size}", Target(1.05, "wire"),
                      wire_us=SETTINGS[setting].wire_us(size))


# Whole jobs that only sum a number. Words after the name are options of horovodrun.
HELLO = "hello"


def starting():
    for setting in ("two", "four"):
        yield Row(setting, "hello, from start to end", HELLO, HELLO,
                  Target(1, "MPI", 20_000) if setting == "two" else None, alone=True)
        yield Row(setting, "hello, without MPI", f"{HELLO} --no-mpi", HELLO,
                  Target(1) if setting == "two" else None, alone=True)


ROWS = (*on_one_node(), *on_few_cores(), *between_hosts(), *on_limited_links(), *starting())
