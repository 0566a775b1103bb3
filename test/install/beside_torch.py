#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads horovodpp and libtorch into one process, in either order, and computes with both in turn.
Also links both, as in a C++ program that names horovodpp first. (PyPI's libtorch exports some names
of its BLAS. A program that names libtorch first would use these names everywhere.)

    beside_torch.py LIBRARY PROGRAM [--any-order]

With --any-order horovodpp is also named after libtorch: for a library that contains its BLAS.
Exits with 77 if torch is missing.
"""

import ctypes
import importlib.util
import os
import subprocess
import sys

FLOAT32 = 7
SIZE = 40
WAYS = ("before", "after", "linked")
BEHIND = "behind"


def check(what, found, wanted):
    if abs(found - wanted) > 1e-3 * abs(wanted):
        sys.exit(f"{what}: {found}, not {wanted}")


def load_torch(visible):
    flags = sys.getdlopenflags()
    if visible:
        sys.setdlopenflags(flags | os.RTLD_GLOBAL)
    import torch
    sys.setdlopenflags(flags)
    return torch


def load_horovodpp(library, program):
    hvd, computing = ctypes.CDLL(library), ctypes.CDLL(program)
    for function in (computing.convolved, computing.multiplied):
        function.restype = ctypes.c_double
    hvd.hvd_last_error_text.restype = ctypes.c_char_p
    return hvd, computing


def both_compute(torch, hvd, computing):
    convolved, multiplied = 4 * 2 * 9 * (SIZE - 2) ** 2, SIZE**3
    for _ in range(3):
        image, weight = torch.ones(1, 2, SIZE, SIZE), torch.ones(4, 2, 3, 3)
        check("torch's convolution", torch.conv2d(image, weight).sum().item(), convolved)
        check("our convolution", computing.convolved(SIZE), convolved)
        x = torch.ones(SIZE, SIZE)
        check("torch's product", (x @ x).sum().item(), multiplied)
        check("our product", computing.multiplied(SIZE), multiplied)
        memory = torch.ones(100)
        code = hvd.hvd_allreduce(ctypes.c_void_p(memory.data_ptr()), ctypes.c_int64(100), FLOAT32,
                                 None)
        if code:
            sys.exit(f"hvd_allreduce: {hvd.hvd_last_error_text()}")
        check("what was reduced", memory.sum().item(), 100)


def load_and_compute(way, library, program):
    if way == "after":
        hvd, computing = load_horovodpp(library, program)
        torch = load_torch(visible=False)
    else:
        torch = load_torch(visible=way in ("linked", BEHIND))
        hvd, computing = load_horovodpp(library, program)
    if hvd.hvd_init(hvd.hvd_version_number()):
        sys.exit(f"hvd_init: {hvd.hvd_last_error_text()}")
    both_compute(torch, hvd, computing)
    hvd.hvd_shutdown()
    print(f"libtorch {torch.__version__}, {way}: both compute")


def main():
    if importlib.util.find_spec("torch") is None:
        return 77
    if sys.argv[1] in (*WAYS, BEHIND):
        return load_and_compute(*sys.argv[1:])
    library, program, *order = sys.argv[1:]
    for way in (*WAYS, BEHIND) if order == ["--any-order"] else WAYS:
        first = {"LD_PRELOAD": library} if way == "linked" else {}
        done = subprocess.run([sys.executable, __file__, way, library, program], timeout=200,
                              env={**os.environ, **first})
        if done.returncode:
            return f"{way}: ended with {done.returncode}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
