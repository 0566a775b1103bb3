"""Starts jobs with horovodrun, as a user would, and looks at what they leave behind."""

import os
import subprocess

HOROVODRUN = os.environ["HOROVODRUN"]


def shared_memory():
    return set(os.listdir("/dev/shm"))


def run(ranks, *command, timeout=120, environment=None):
    """The finished job: returncode, stdout, stderr. A job that hangs is an error."""
    return subprocess.run(
        [HOROVODRUN, "-np", str(ranks), *command], text=True, timeout=timeout,
        capture_output=True, stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})})


def processes(program):
    """The ids of all processes that run `program`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program):
                found.append(int(pid))
        except OSError:
            pass  # Gone meanwhile, or not ours to see.
    return found
