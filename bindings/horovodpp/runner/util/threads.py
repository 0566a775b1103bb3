# SPDX-License-Identifier: Apache-2.0
"""Threads, under the names of horovod.runner.util.threads."""
import concurrent.futures
import logging
import threading


def _logged(function, silent):
    """Wraps `function`: its exceptions end the thread and, unless `silent`, are logged."""

    def call(*args):
        try:
            function(*args)
        except Exception:
            if not silent:
                logging.getLogger("horovodpp").exception(
                    "%s failed in thread '%s'", getattr(function, "__qualname__", function),
                    threading.current_thread().name)

    return call


def in_thread(target, args=(), name=None, daemon=True, silent=False):
    """Calls `target(*args)` in a new thread, and returns the thread.

    daemon: the process may end before the thread.
    silent: exceptions of `target` are not logged.
    Raises ValueError if `args` is not a tuple or a list.
    """
    if not isinstance(args, (tuple, list)):
        raise ValueError(f"args is a tuple or a list, not {type(args).__name__}: for one argument "
                         "give (argument,)")
    thread = threading.Thread(target=_logged(target, silent), args=tuple(args), name=name,
                              daemon=daemon)
    thread.start()
    return thread


def on_event(event, func, args=(), stop=None, check_stop_interval_s=1.0, daemon=True,
             silent=False):
    """Calls `func(*args)` in a new thread once `event` is set; returns the thread.

    stop: an event that ends the wait without the call; checked every `check_stop_interval_s`
    seconds. Raises ValueError for an event, or arguments, of another type.
    """
    if not hasattr(event, "wait"):
        raise ValueError(f"event is a threading.Event, not {type(event).__name__}")
    if stop is not None and not hasattr(stop, "is_set"):
        raise ValueError(f"stop is a threading.Event, not {type(stop).__name__}")

    def wait(*arguments):
        if stop is None:
            event.wait()
        while not event.wait(check_stop_interval_s):
            if stop.is_set():
                return
        func(*arguments)

    return in_thread(wait, args, daemon=daemon, silent=silent)


def execute_function_multithreaded(fn, args_list, block_until_all_done=True,
                                   max_concurrent_executions=1000):
    """Calls `fn(*args)` for each entry of `args_list` in threads.

    Runs `max_concurrent_executions` threads at most. Returns {index in args_list: result} once all
    calls are done, or raises an exception of one of them. Without `block_until_all_done`, returns
    None at once.
    """
    pool = concurrent.futures.ThreadPoolExecutor(
        max_workers=max(1, min(len(args_list), max_concurrent_executions)))
    calls = [pool.submit(fn, *args) for args in args_list]
    pool.shutdown(wait=block_until_all_done)
    if not block_until_all_done:
        return None
    return {index: call.result() for index, call in enumerate(calls)}
