# SPDX-License-Identifier: Apache-2.0
"""What malloc() does with the memory of gradients that have moved.

A gradient's first memory is free again as soon as the gradient lies in the arena. Left to itself,
glibc returns such memory to the system, and gets it anew, page by page and cleared, for the next
gradient: 13,000 pages in each step of a ResNet-18, a fifth of its time.
"""
import ctypes
import os

# malloc.h's numbers.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3

# glibc comes to this limit by itself, which is the highest, after it has freed blocks as large.
_LARGEST_KEPT = 32 << 20
_MOST_KEPT = 256 << 20


def _is_tuned(environment):
    return any(name.startswith("MALLOC_") and name.endswith("_") for name in environment) or \
        "glibc.malloc" in environment.get("GLIBC_TUNABLES", "")


def keep(environment=None):
    """Has malloc() keep up to 256 MiB of free memory for this process; whether it does.

    Blocks of more than 32 MiB are returned at once, as before. Nothing changes where the
    environment, os.environ unless it is given, tells glibc what to do, or where there is no glibc.
    """
    if _is_tuned(os.environ if environment is None else environment):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT) == 1 and \
        mallopt(_TRIM_THRESHOLD, _MOST_KEPT) == 1
