# SPDX-License-Identifier: Apache-2.0
"""Runs the suite of this folder in every rank of a job, or only the tests that start jobs.

Exits with 77, which ctest counts as skipped, without a package that was built for this Python, or
without PyTorch or pytest.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


MISSING = """
import importlib.machinery, importlib.util, pathlib, sys
names = [path.name for path in pathlib.Path(sys.argv[1], "horovodpp").glob("_core*.so")]
if not any("_core" + suffix in names for suffix in importlib.machinery.EXTENSION_SUFFIXES):
    print("no module that was built for this version")
for module in ("torch", "pytest"):
    if importlib.util.find_spec(module) is None:
        print("no", module)
"""


def check(python, package):
    """Skips everything unless that Python has the suite's requirements."""
    if not list(package.glob("horovodpp/_core*.so")):
        skip("the Python package was not built: -DHVD_BUILD_PYTHON=ON")
    if shutil.which(python) is None:
        skip(f"there is no Python at {python}")
    missing = subprocess.run([python, "-c", MISSING, str(package)], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.splitlines()
    if missing:
        skip(f"{python} has {', '.join(missing)}: scripts/install_dependencies.sh test")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--horovodrun", required=True)
    parser.add_argument("--package", required=True, type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable, help="that runs the suite")
    parser.add_argument("--ranks", help="without it: the tests that start jobs")
    parser.add_argument("--build-folder", required=True)
    parser.add_argument("--cuda-library", help="the fake CUDA driver")
    parser.add_argument("--nccl-library", help="the fake NCCL, for the tests that ask for it")
    parser.add_argument("--watchdog", help="the library of test/support/watchdog")
    parser.add_argument("arguments", nargs="*", help="of pytest")
    options = parser.parse_args()
    check(options.python, options.package)
    environment = dict(os.environ, PYTHONPATH=str(options.package), PYTHONDONTWRITEBYTECODE="1",
                       OMP_NUM_THREADS="1", HOROVODRUN=options.horovodrun,
                       # A rank that fails a test no longer takes part in the
                       # others' collectives.
                       HOROVOD_STALL_CHECK_TIME_SECONDS="20",
                       HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="40")
    if options.cuda_library:
        environment["HOROVODPP_CUDA_LIBRARY"] = options.cuda_library
    if options.nccl_library:
        environment["HVD_TEST_NCCL_LIBRARY"] = options.nccl_library
    if options.watchdog:
        environment["HVD_TEST_WATCHDOG"] = options.watchdog
    os.chdir(options.build_folder)
    suite = pathlib.Path(__file__).resolve().parent
    pytest = [options.python, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider",
              "--rootdir", str(suite), "-c", str(suite / "pytest.ini")]
    if options.ranks is None:
        os.execve(options.python, [*pytest, *(options.arguments or [str(suite / "jobs")])],
                  environment)
    # After one rank fails a test, the others cannot go on.
    os.execve(options.horovodrun, [
        options.horovodrun, "-np", options.ranks, *pytest, "-x", "--ignore", str(suite / "jobs"),
        *(options.arguments or [str(suite)])], environment)


if __name__ == "__main__":
    main()
