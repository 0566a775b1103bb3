# SPDX-License-Identifier: Apache-2.0
"""The gradients of the next step reuse the memory that moved gradients leave."""
import os
import resource
import subprocess
import sys

import pytest

_BYTES = 120 << 20
_PAGES = _BYTES // resource.getpagesize()

# Prints whether memory is kept, and the usual number of pages that these tensors take from
# the system. The heap may have to grow once more.
_PROGRAM = f"""
import resource
import statistics
import sys
import torch
from horovodpp import _core

def make():
    tensors = int(sys.argv[1])
    return [torch.ones({_BYTES} // tensors, dtype=torch.uint8) for _ in range(tensors)]

print(_core.keep_freed_memory())
for _ in range(3):
    make()
pages = []
for _ in range(9):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    make()
    pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(statistics.median(pages))
"""


def kept_and_pages(tensors=5, **tuned):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("MALLOC_") and name != "GLIBC_TUNABLES"}
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(tensors)], check=True, text=True,
                          stdout=subprocess.PIPE, env=dict(environment, **tuned))
    kept, pages = done.stdout.split()
    return kept, int(pages)


def keeps_large_blocks():
    """Whether glibc keeps large blocks: older versions refuse blocks of more than 32 MiB."""
    program = "import ctypes; print(ctypes.CDLL(None).mallopt(-3, 128 << 20))"  # M_MMAP_THRESHOLD
    return subprocess.run([sys.executable, "-c", program], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip() == "1"


@pytest.mark.parametrize("tensors", [5, 1])
def test_memory_is_kept_for_the_next_tensor(tensors, rank):
    if rank == 0:
        if tensors == 1 and not keeps_large_blocks():
            pytest.skip("this glibc returns blocks of more than 32 MiB at once")
        kept, pages = kept_and_pages(tensors)
        assert kept == "True" and pages < _PAGES / 10


def test_the_users_malloc_settings_stay(rank):
    if rank == 0:
        kept, pages = kept_and_pages(MALLOC_TRIM_THRESHOLD_="131072")
        assert kept == "False" and pages > _PAGES / 2
