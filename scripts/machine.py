# SPDX-License-Identifier: Apache-2.0
"""The words that measurements say of their machine."""

import os
import pathlib
import platform


def processor():
    for text in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            return text.partition(":")[2].strip()
    return platform.machine()


def described():
    return f"{processor()}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}"
