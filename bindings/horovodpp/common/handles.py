# SPDX-License-Identifier: Apache-2.0
"""Numbers for operations under way, as poll() and synchronize() take them."""
import itertools
import weakref

from horovodpp import _core

# Within it, what is submitted is waited for by this thread, which wakes no other.
AT_ONCE = _core.AtOnce()
_numbers = itertools.count()
# Number -> (operation, what turns its result into the caller's, what it keeps alive).
_under_way: dict = {}
_listeners: weakref.WeakSet = weakref.WeakSet()


def add(operation, finish=None, keep=None):
    """The number of `operation`, whose result `finish` turns into the caller's.

    `keep` lives until it is synchronized.
    """
    number = next(_numbers)
    _under_way[number] = (operation, finish, keep)
    return number


def poll(handle):
    """Whether the operation is done, so that synchronize() returns at once.

    Raises ValueError for a number that is none, or was synchronized.
    """
    try:
        operation = _under_way[handle][0]
    except KeyError:
        raise ValueError(f"Handle {handle} was not created or has been cleared.") from None
    return operation.poll()


def synchronize(handle):
    """Waits for the operation, asleep, and returns its result; None for a number that is none.

    Raises HorovodInternalError if it failed; where it would fail again, as the ranks disagree,
    InvalidCallError, which is one.
    """
    entry = _under_way.get(handle)
    if entry is None:
        return None
    operation, finish, _ = entry
    try:
        result = operation.wait()
    except KeyboardInterrupt:
        raise  # It is under way still.
    except BaseException:
        _under_way.pop(handle, None)
        raise
    try:
        return result if finish is None else finish(result)
    finally:
        _under_way.pop(handle, None)


def wait_in_stream(handle, stream):
    """Puts `stream`, a stream of the operation's GPU, behind it; the host does not wait for the GPU.

    It returns when the operation is in a stream of that GPU. What comes next in `stream` may work
    with what it works on; how it ended, synchronize() tells, which is still to be called. stream: a
    cudaStream_t as a number, or torch's or cupy's. Raises ValueError for a number that is none, and
    HorovodInternalError if the operation failed before.
    """
    entry = _under_way.get(handle)
    if entry is None:
        raise ValueError(f"Handle {handle} was not created or has been cleared.")
    try:
        entry[0].order(stream_number(stream))
    except KeyboardInterrupt:
        raise  # It is under way still.
    except BaseException:
        _under_way.pop(handle, None)
        raise


def stream_number(stream):
    """The cudaStream_t of a stream of torch's or cupy's, or that is one already, as a number."""
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return getattr(stream, name)
    return stream


def wait_for(start, *arguments, **options):
    """The result of an _async function that is called with these, and waited for at once."""
    with AT_ONCE:
        handle = start(*arguments, **options)
    return synchronize(handle)


def reset_with_job(listener):
    """Calls listener.reset() when a job ends, while the listener lives."""
    _listeners.add(listener)


def forget_all():
    """Drops the operations of a job that has ended."""
    _under_way.clear()
    for listener in list(_listeners):
        listener.reset()


def leave_to_the_process():
    """Keeps what is in flight, and its memory, beyond the end of the interpreter."""
    for entry in _under_way.values():
        if not entry[0].poll():
            _core.keep_for_ever(entry)
