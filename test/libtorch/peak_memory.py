#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the peak memory of twelve checkpointed blocks in C++ with that of torch's own
checkpoint in Python, with the same libtorch.

    peak_memory.py COUNTING_LIBRARY PROGRAM

Without PROGRAM, and with the library loaded, prints the peak memory in Python.
"""
import ctypes
import os
import subprocess
import sys

NOISE = 1.001  # Every process makes some small allocations.


def measure():
    import torch
    from torch.utils.checkpoint import checkpoint
    counter = ctypes.CDLL(None)
    counter.peak_memory_most.restype = ctypes.c_long
    torch.set_num_threads(1)
    torch.manual_seed(1)
    blocks = [torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.GELU(),
                                  torch.nn.Linear(512, 128)) for _ in range(12)]
    for step in range(2):
        x = torch.randn(512, 128, requires_grad=True)
        counter.peak_memory_begin()
        y = x
        for block in blocks:
            y = checkpoint(block, y, use_reentrant=False)
        y.pow(2).mean().backward()
        del y
    print(counter.peak_memory_most())


def main():
    if len(sys.argv) == 1:
        measure()
        return 0
    library, program = sys.argv[1:]
    environment = {**os.environ, "LD_PRELOAD": library}
    ours, theirs = (
        int(subprocess.run(command, env=environment, check=True, text=True,
                           capture_output=True).stdout)
        for command in ([program, "--peak-memory"], [sys.executable, __file__]))
    print(f"in C++ {ours} bytes, in Python {theirs}: {ours / theirs:.3f}")
    return not 0 < ours <= theirs * NOISE


if __name__ == "__main__":
    sys.exit(main())
