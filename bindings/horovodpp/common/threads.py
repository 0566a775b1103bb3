# SPDX-License-Identifier: Apache-2.0
"""Ranks that are threads of this process: for a test, or a look with a debugger."""
import threading

from horovodpp import _core
from horovodpp.common import process_sets

_this_thread = threading.local()


def is_rank():
    """Whether this thread is a rank of run_ranks()."""
    return getattr(_this_thread, "is_rank", False)


def run_ranks(ranks, func, args=(), kwargs=None):
    """Calls `func(*args, **kwargs)` in a thread for each rank; returns the results by rank.

        losses = horovodpp.run_ranks(2, train, args=(0.1,))

    In each thread hvd.rank(), the collectives and what is built on them are those of its rank.
    init() finds the job begun. Models, optimizers and loaders are one rank's each. Threads share
    Python's lock: to compute faster, use run(), whose ranks are processes.

    Raises what the first rank to fail raised. Process sets are added by the threads, and end with
    them.
    """
    results = [None] * ranks
    failures = []
    before = process_sets.suspend(ranks)

    def body():
        _this_thread.is_rank = True
        process_sets.global_process_set.begin_job()
        try:
            results[_core.rank()] = func(*args, **(kwargs or {}))
        except BaseException as error:
            # Before the others can hear of it: theirs are its consequences.
            failures.append(error)
            _core.abort(f"raised {type(error).__name__}: {error}")
            raise

    try:
        _core.run_ranks(ranks, body)
    except BaseException as error:
        failures.append(error)
    finally:
        process_sets.resume(before)
    if failures:
        raise failures[0]
    return results
