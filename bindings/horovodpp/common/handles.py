# SPDX-License-Identifier: Apache-2.0
"""Handles: numbers of operations in flight, for poll() and synchronize()."""
import itertools
import weakref

from horovodpp import _core

# In its scope, this thread waits for the operations that it submits, and wakes no other thread.
AT_ONCE = _core.AtOnce()
_numbers = itertools.count()
# Number -> (operation, function that converts its result for the caller, objects to keep alive).
_under_way: dict = {}
_listeners: weakref.WeakSet = weakref.WeakSet()


def add(operation, finish=None, keep=None):
    """A handle of `operation`. `finish` converts the operation's result for the caller.

    `keep` lives until the handle is synchronized.
    """
    number = next(_numbers)
    _under_way[number] = (operation, finish, keep)
    return number


def poll(handle):
    """Whether the operation is done, so that synchronize() returns at once.

    Raises ValueError for a handle that does not exist or was synchronized.
    """
    try:
        operation = _under_way[handle][0]
    except KeyError:
        raise ValueError(f"Handle {handle} was not created or has been cleared.") from None
    return operation.poll()


def synchronize(handle):
    """Blocks until the operation is done, and returns its result; None for an unknown handle.

    Raises HorovodInternalError if the operation failed. If it would fail again, because the ranks
    disagree, the error is an InvalidCallError, which is a HorovodInternalError.
    """
    entry = _under_way.get(handle)
    if entry is None:
        return None
    operation, finish, _ = entry
    try:
        result = operation.wait()
    except KeyboardInterrupt:
        raise  # The operation is still in flight.
    except BaseException:
        _under_way.pop(handle, None)
        raise
    try:
        return result if finish is None else finish(result)
    finally:
        _under_way.pop(handle, None)


def wait_in_stream(handle, stream):
    """Makes `stream` wait for the operation on its GPU, without blocking the host for the GPU.

    Returns when the operation is in a stream of that GPU. Later work in `stream` may use the
    operation's tensors. Call synchronize() afterwards in any case: it reports the outcome.

    stream: a stream of the operation's GPU: a cudaStream_t as a number, or a stream of torch or
        cupy.

    Raises ValueError for an unknown handle, and HorovodInternalError if the operation failed
    before.
    """
    entry = _under_way.get(handle)
    if entry is None:
        raise ValueError(f"Handle {handle} was not created or has been cleared.")
    try:
        entry[0].order(stream_number(stream))
    except KeyboardInterrupt:
        raise  # The operation is still in flight.
    except BaseException:
        _under_way.pop(handle, None)
        raise


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
    return synchronize(handle)


def reset_with_job(listener):
    """Calls listener.reset() when a job ends, as long as the listener lives."""
    _listeners.add(listener)


def forget_all():
    """Drops the operations of a job that has ended."""
    _under_way.clear()
    for listener in list(_listeners):
        listener.reset()


def keep_until_exit():
    """Keeps operations in flight, and their memory, beyond the end of the interpreter."""
    for entry in _under_way.values():
        if not entry[0].poll():
            _core.keep_for_ever(entry)
