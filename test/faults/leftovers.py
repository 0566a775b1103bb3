# SPDX-License-Identifier: Apache-2.0
"""The leftovers of a job: processes that carry its mark, files in its folders.

Every process of a job inherits the environment variable MARK with a value unique to the job.
The mark identifies exactly the job's processes, wherever they are in the process tree.
If the system permits, a job has its own /dev/shm and /tmp, so all files left in them are the
job's. Otherwise, leftovers are new files in /dev/shm that no process has mapped, and files in
the job's TMPDIR."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

MARK = "HVD_FAULT_MARK"

# Binds the folders named by the first two arguments over /dev/shm and /tmp.
PRIVATELY = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount --bind "$0" /dev/shm && mount --bind "$1" /tmp && shift && exec "$@"']


def marked(mark):
    """The process ids of the job with this mark, without zombies."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as variables:
                if wanted in variables.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass  # Already ended, or not readable.
    return found


def words_of(pid):
    """The command line; [""] if the process has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            return words.read().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return [""]


def describe(pid):
    return f"pid {pid}: {' '.join(words_of(pid))[:160]}"


def end(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def can_hide_folders():
    with Folders(private=True) as folders:
        probe = subprocess.run([*folders.prefix(), "true"], capture_output=True)
    return probe.returncode == 0


def mapped_files():
    names = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps") as lines:
                names.update(re.findall(r"/dev/shm/(\S+)", lines.read()))
        except OSError:
            pass
    return names


class Folders:
    """The folders in which a job may leave files; removed at the end with their contents."""

    def __init__(self, private):
        self.private = private
        # Not under /tmp, which the job may not see.
        self.base = tempfile.mkdtemp(prefix="hvd-faults-", dir="/var/tmp")
        self.temporary = os.path.join(self.base, "tmp")
        os.mkdir(self.temporary)
        self.shared = None
        if private:
            self.shared = tempfile.mkdtemp(prefix="hvd-faults-", dir="/dev/shm")
        self.before = set(os.listdir("/dev/shm"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def prefix(self):
        """The beginning of the job's command line."""
        return [*PRIVATELY, self.shared, self.temporary] if self.private else []

    def environment(self):
        return {} if self.private else {"TMPDIR": self.temporary}

    def files(self):
        found = [os.path.join("/tmp", os.path.relpath(os.path.join(folder, name),
                                                      self.temporary))
                 for folder, _, names in os.walk(self.temporary) for name in names]
        # So is an empty folder of horovodrun. Open MPI and torch keep empty ones.
        found += [f"/tmp/{name}/" for name in os.listdir(self.temporary)
                  if os.path.isdir(os.path.join(self.temporary, name))
                  and (name.startswith("horovodrun.")
                       or os.listdir(os.path.join(self.temporary, name)))]
        if self.private:
            found += [f"/dev/shm/{name}" for name in os.listdir(self.shared)]
        else:
            new = set(os.listdir("/dev/shm")) - self.before
            found += [f"/dev/shm/{name}" for name in new - mapped_files()
                      if not name.startswith("hvd-faults-")]
        return sorted(found)

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)
        if self.shared:
            shutil.rmtree(self.shared, ignore_errors=True)


def still_there(processes, timeout):
    """The result of processes() after a moment in which ending processes may end."""
    deadline = time.monotonic() + timeout
    while (pids := processes()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return pids
