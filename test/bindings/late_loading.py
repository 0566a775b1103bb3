# SPDX-License-Identifier: Apache-2.0
"""Loads the package after other libraries have used up the memory for thread locals:

    python test/bindings/late_loading.py EATER

EATER is tls_eater.c as a shared library. Loads copies of EATER until one fails.
"""
import ctypes
import pathlib
import shutil
import sys
import tempfile

import numpy  # Before the memory for its libraries is used up.


def eat(library):
    """The number of copies that could be loaded."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(10_000):
            copy = pathlib.Path(folder) / f"eater_{number}.so"
            shutil.copy(library, copy)
            try:
                ctypes.CDLL(str(copy))
            except OSError as error:
                assert "static TLS" in str(error), error
                return number
    raise AssertionError("there is always more of it")


def main():
    eaten = eat(sys.argv[1])
    import horovodpp
    horovodpp.init()
    assert horovodpp.size() == 1
    assert horovodpp.allreduce(numpy.ones(3)).tolist() == [1, 1, 1]
    horovodpp.shutdown()
    print(f"{eaten} libraries came before, and it loads")


if __name__ == "__main__":
    main()
