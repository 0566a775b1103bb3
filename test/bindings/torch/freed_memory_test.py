# SPDX-License-Identifier: Apache-2.0
"""Memory that gradients leave when they move, and that those of the next step get."""
import resource
import subprocess
import sys

import pytest

from horovodpp.torch import freed_memory

_BYTES = 20 << 20
_TENSORS = 5
_PAGES = _TENSORS * _BYTES // resource.getpagesize()

# Prints how many pages so many tensors take from the system each time.
_PROGRAM = f"""
import resource
import sys
import torch
from horovodpp.torch import freed_memory

def make():
    return [torch.ones({_BYTES}, dtype=torch.uint8) for _ in range({_TENSORS})]

if sys.argv[1] == "keep":
    assert freed_memory.keep({{}})
make()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    make()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 10)
"""


def pages_of_each(how):
    done = subprocess.run([sys.executable, "-c", _PROGRAM, how], check=True, text=True,
                          stdout=subprocess.PIPE)
    return int(done.stdout)


def test_memory_is_kept_for_the_next_tensor(rank):
    if rank == 0:
        assert pages_of_each("keep") < _PAGES / 10


@pytest.mark.parametrize("environment", [
    {"MALLOC_TRIM_THRESHOLD_": "131072"}, {"MALLOC_MMAP_MAX_": "0"},
    {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}])
def test_what_the_user_tells_malloc_stays(environment):
    assert not freed_memory.keep(environment)
