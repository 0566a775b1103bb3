# SPDX-License-Identifier: Apache-2.0
"""Runs shell commands, under the names of horovod.runner.common.util.safe_shell_exec."""
import os
import signal
import subprocess
import sys
import threading
import time

GRACEFUL_TERMINATION_TIME_S = 5
_SECONDS_TO_POLL = 0.05


def execute(command, env=None, stdout=None, stderr=None, index=None, events=None,
            prefix_output_with_timestamp=False):
    """Runs a command line in a shell, or a list of words without, and returns its exit code.

    Output goes to the files `stdout` and `stderr`, by default to this program's. With `index`, each
    line begins with "[index]<stdout>:". Once an event of the list `events` is set, or an exception
    interrupts the call, the command and its children get SIGTERM, and SIGKILL 5 s later.
    """
    process = subprocess.Popen(command, env=env, shell=isinstance(command, str),
                               start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace")
    copies = [
        _copy(process.stdout, stdout or sys.stdout, _prefix(index, "stdout"),
              prefix_output_with_timestamp),
        _copy(process.stderr, stderr or sys.stderr, _prefix(index, "stderr"),
              prefix_output_with_timestamp)]
    try:
        # Children may write after the command itself has ended.
        while process.poll() is None or any(copy.is_alive() for copy in copies):
            if any(event.is_set() for event in events or ()):
                _end(process)
            time.sleep(_SECONDS_TO_POLL)
    except BaseException:
        _end(process)
        raise
    return process.returncode


def terminate_executor_shell_and_children(pid):
    """Ends the process group `pid`: SIGTERM, and SIGKILL 5 s later."""
    ends = time.monotonic() + GRACEFUL_TERMINATION_TIME_S
    signal_number = signal.SIGTERM
    while _signal(pid, signal_number):
        late = time.monotonic() > ends
        if signal_number == signal.SIGKILL:
            return
        signal_number = signal.SIGKILL if late else 0
        time.sleep(_SECONDS_TO_POLL)


def _end(process):
    threading.Thread(target=process.wait, daemon=True).start()  # A zombie would count as alive.
    terminate_executor_shell_and_children(process.pid)
    process.wait()


def _signal(group, number):
    """Whether the group has processes."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _prefix(index, name):
    return "" if index is None else f"[{index}]<{name}>:"


def _copy(source, target, prefix, with_time):
    """Copies lines in a thread, and returns the thread."""

    def copy():
        with source:
            for line in source:
                stamp = time.asctime() if with_time and prefix else ""
                target.write(f"{stamp}{prefix}{line}")
                target.flush()

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread
