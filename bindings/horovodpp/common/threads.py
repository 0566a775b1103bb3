# SPDX-License-Identifier: Apache-2.0
"""Ranks that are threads of this process, for tests and debuggers."""
from __future__ import annotations

import threading
from typing import Any, Callable, List, Mapping, Optional, Sequence, TypeVar

from horovodpp import _core
from horovodpp.common import handles, process_sets
from horovodpp.common.explained import explained

_this_thread = threading.local()
Result = TypeVar("Result")


def is_rank():
    """Whether this thread is a rank of run_ranks()."""
    return getattr(_this_thread, "is_rank", False)


@explained(ranks="the number of ranks.", func="the function that each rank calls.",
           args="its arguments.", kwargs="its arguments by name.",
           returns="The results, by rank.",
           raises={"Exception": "the exception of the first rank that fails."})
def run_ranks(ranks: int, func: Callable[..., Result], args: Sequence[Any] = (),
              kwargs: Optional[Mapping[str, Any]] = None) -> List[Result]:
    """Calls `func(*args, **kwargs)` in a thread for each rank; returns the results by rank.

        losses = horovodpp.run_ranks(2, train, args=(0.1,))

    In each thread, hvd.rank(), the collectives and all functions that use them act for that
    thread's rank. The job has already begun, so init() does nothing. Each rank needs its own
    models, optimizers and loaders. Threads share Python's lock: for speed, use run(), whose ranks
    are processes.

    Raises the exception of the first rank that fails. The threads add their process sets, which end
    with the threads.
    """
    results: List[Any] = [None] * ranks
    failures = []
    before = process_sets.suspend(ranks)
    handles.tell_ranks_apart(are_threads=True)

    def body():
        _this_thread.is_rank = True
        process_sets.global_process_set.begin_job()
        try:
            results[_core.rank()] = func(*args, **(kwargs or {}))
        except BaseException as error:
            # Recorded before abort(), as the other ranks fail only because of this error.
            failures.append(error)
            _core.abort(f"raised {type(error).__name__}: {error}")
            raise

    try:
        _core.run_ranks(ranks, body)
    except BaseException as error:
        failures.append(error)
    finally:
        process_sets.resume(before)
        handles.tell_ranks_apart(are_threads=False)
    if failures:
        raise failures[0]
    return results
