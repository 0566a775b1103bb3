# SPDX-License-Identifier: Apache-2.0
"""Waits: of callers, with a deadline, and of the one thread that completes futures."""
import atexit
import itertools
import threading
import time
from datetime import timedelta

from horovodpp import _core
from horovodpp.torch.backend.errors import TimedOut, timed_out

# How soon the thread looks at late operations, and, while it has none, for new ones: waking it for
# each would cost more.
_TICK_S = 0.01
_IDLE_TICK_S = 0.05
_UNLIMITED_S = 1e8


def seconds(timeout):
    """The seconds of a timedelta or number; None without one, or for c10d's "no timeout"."""
    if timeout is None:
        return None
    if isinstance(timeout, timedelta):
        timeout = timeout.total_seconds()
    return timeout if timeout > 0 else None


def wait(operation, timeout):
    """The operation's result. Raises TimedOut after `timeout` seconds, unless that is None."""
    try:
        return operation.wait(timeout)
    except TimeoutError as error:
        raise TimedOut(f"the operation {error}") from None


class _Thread:
    """Completes futures, in the order in which their operations end."""

    def __init__(self):
        self._core = _core.Completions()
        self._numbers = itertools.count(1)
        self._pending = {}  # Number -> (work, its base future, when it times out).
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="horovodpp.futures", daemon=True)
        self._thread.start()
        atexit.register(self._stop)

    def is_current(self):
        return threading.current_thread() is self._thread

    def add(self, work, operation, base):
        number = next(self._numbers)
        self._pending[number] = (work, base, time.monotonic() + (work.limit or _UNLIMITED_S))
        self._core.watch(operation, number)

    def _run(self):
        while not self._is_stopped:
            numbers = self._core.next(_TICK_S if self._pending else _IDLE_TICK_S)
            for number in numbers:
                self._end(number)
            if not numbers:
                self._look_at_the_late()

    def _end(self, number):
        entry = self._pending.pop(number, None)
        if entry is not None:
            entry[1].set_result(None)

    def _look_at_the_late(self):
        """Tells the library that someone waits, and fails what has waited too long."""
        now = time.monotonic()
        for number, (work, _, deadline) in list(self._pending.items()):
            if work.operation is not None:
                work.operation.poll()
            if now >= deadline:
                work.fail_late(timed_out("an operation", work.limit))
                self._end(number)

    def _stop(self):
        self._is_stopped = True
        self._core.wake(0)
        self._thread.join(timeout=5)


_lock = threading.Lock()
_thread = None


def complete(work, base):
    """Sets the result of `base` once the work's operation is done."""
    global _thread
    operation = work.operation
    # A callback of a future may wait for another future: this thread must not wait for itself.
    if operation is None or operation.poll() or (_thread and _thread.is_current()):
        base.set_result(None)
        return
    with _lock:
        if _thread is None:
            _thread = _Thread()
    _thread.add(work, operation, base)
