# SPDX-License-Identifier: Apache-2.0
"""Memory that gradients leave when they move, and that those of the next step get."""
import os
import resource
import subprocess
import sys

_BYTES = 20 << 20
_TENSORS = 5
_PAGES = _TENSORS * _BYTES // resource.getpagesize()

# Prints whether memory is kept, and how many pages so many tensors take from the system most
# times: the heap may have to grow once more.
_PROGRAM = f"""
import resource
import statistics
import torch
from horovodpp import _core

def make():
    return [torch.ones({_BYTES}, dtype=torch.uint8) for _ in range({_TENSORS})]

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


def kept_and_pages(**tuned):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("MALLOC_") and name != "GLIBC_TUNABLES"}
    done = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, text=True,
                          stdout=subprocess.PIPE, env=dict(environment, **tuned))
    kept, pages = done.stdout.split()
    return kept, int(pages)


def test_memory_is_kept_for_the_next_tensor(rank):
    if rank == 0:
        kept, pages = kept_and_pages()
        assert kept == "True" and pages < _PAGES / 10


def test_what_the_user_tells_malloc_stays(rank):
    if rank == 0:
        kept, pages = kept_and_pages(MALLOC_TRIM_THRESHOLD_="131072")
        assert kept == "False" and pages > _PAGES / 2
