# SPDX-License-Identifier: Apache-2.0
"""Handles: numbers of operations in flight, for poll() and synchronize().

The tables are the module's (bindings/src/handles.h).
"""
from __future__ import annotations

import weakref
from typing import Any

from horovodpp import _core
from horovodpp.common.arguments import wire
from horovodpp.common.explained import explained

# In its scope, this thread waits for the operations that it submits, and wakes no other thread.
AT_ONCE = _core.AtOnce()
TABLE = _core.Handles()  # Of this process.
_listeners: weakref.WeakSet = weakref.WeakSet()


def claim(what, name, core):
    """The key of a name for add(); None without a name.

    what: the collective; those of different kinds may share a name, as in Horovod.
    core: the library's object for the process set.

    Raises ValueError if the name is taken on this rank.
    """
    if not isinstance(name, str) or not name:
        wire(name)  # Refuses another type.
        return None
    return TABLE.claim(what, name, core)


def add(operation, finish=None, keep=None, key=None):
    """A handle of `operation`. finish(result, keep) makes the caller's result.

    `keep`, usually the tensor, lives until the handle is synchronized. `key` is from claim().
    """
    return TABLE.add(operation, finish, keep, key)


@explained(returns="True once the operation is done; its name is then free.",
           raises={"ValueError": "the handle does not exist, or was synchronized."},
           example="while not hvd.poll(handle):\n    do_something_else()")
def poll(handle: int) -> bool:
    """Whether the operation is done, so that synchronize() returns at once.

    Raises ValueError for a handle that does not exist or was synchronized.
    """
    return TABLE.poll(handle)


@explained(returns="The result of the operation; None for an unknown handle.",
           raises={"InvalidCallError": "ranks disagree, or no plane supports the call.",
                   "HorovodInternalError": "the job broke; the text names the rank."},
           example="mean = hvd.synchronize(hvd.allreduce_async(loss))")
def synchronize(handle: int) -> Any:
    """Blocks until the operation is done, and returns its result; None for an unknown handle.

    Raises HorovodInternalError if the operation failed. If it would fail again, because the ranks
    disagree, the error is an InvalidCallError, which is a HorovodInternalError.
    """
    return TABLE.synchronize(handle)


@explained(raises={"ValueError": "the handle does not exist, or was synchronized.",
                   "HorovodInternalError": "the operation failed before."},
           example="""
               handle = hvd.allreduce_async_(gradient)
               hvd.wait_in_stream(handle, torch.cuda.current_stream())""",
           stream="a stream of the operation's GPU: a cudaStream_t as a number, or a "
                  "stream of torch or cupy.")
def wait_in_stream(handle: int, stream: Any) -> None:
    """Makes `stream` wait for the operation on its GPU, without blocking the host for the GPU.

    Returns when the operation is in a stream of that GPU. Later work in `stream` may use the
    operation's tensors. Call synchronize() afterwards in any case: it reports the outcome.

    Args:
        stream: a stream of the operation's GPU: a cudaStream_t as a number, or a stream of torch or
            cupy.

    Raises ValueError for an unknown handle, and HorovodInternalError if the operation failed
    before.
    """
    TABLE.order(handle, stream_number(stream))


def tell_ranks_apart(are_threads):
    """Says whether the ranks of the next calls are threads, each with names of its own."""
    TABLE.tell_ranks_apart(are_threads)


def stream_number(stream):
    """The cudaStream_t, as a number, of a stream of torch or cupy, or of such a number."""
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return getattr(stream, name)
    return stream


def wait_for(start, *arguments, **options):
    """Calls an _async function with these arguments, and returns its result."""
    with AT_ONCE:
        handle = start(*arguments, **options)
    try:
        return synchronize(handle)
    except KeyboardInterrupt:
        # The operation goes on, but its caller has no handle. A later use of the name follows it.
        TABLE.free_name(handle)
        raise


def reset_with_job(listener):
    """Calls listener.reset() when a job ends, as long as the listener lives."""
    _listeners.add(listener)


def forget_all():
    """Drops the operations of a job that has ended."""
    TABLE.forget_all()
    for listener in list(_listeners):
        listener.reset()


def keep_until_exit():
    """Keeps operations in flight, and their memory, beyond the end of the interpreter."""
    TABLE.keep_those_in_flight()
