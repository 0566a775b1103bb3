# SPDX-License-Identifier: Apache-2.0
"""Starts jobs with horovodrun, as a user would, and finds their leftovers."""

import os
import secrets
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), os.pardir, "faults"))
import leftovers  # noqa: E402

HOROVODRUN = [os.environ["HOROVODRUN"], *os.environ.get("HOROVODRUN_OPTIONS", "").split()]
# Seconds that processes have to end after horovodrun, on any machine.
TIMEOUT = 10


def run(ranks, *command, timeout=120, environment=None, prefix=()):
    """Returns the finished job: returncode, stdout, stderr. A job that hangs is an error."""
    return subprocess.run(
        [*prefix, *HOROVODRUN, "-np", str(ranks), *command], text=True, timeout=timeout,
        capture_output=True, stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})})


def run_alone(*arguments, environment=None, **options):
    """Like run(), but also returns the processes and files that the job has left, even if
    other jobs run on the machine."""
    mark = secrets.token_hex(8)
    with leftovers.Folders(leftovers.can_hide_folders()) as folders:
        job = run(*arguments, prefix=folders.prefix(), **options,
                  environment={**folders.environment(), **(environment or {}),
                               leftovers.MARK: mark})
        left = leftovers.still_there(lambda: leftovers.marked(mark), TIMEOUT)
        return job, [*map(leftovers.describe, left), *folders.files()]
