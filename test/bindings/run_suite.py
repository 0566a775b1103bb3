# SPDX-License-Identifier: Apache-2.0
"""Runs the suite of this folder in every rank of a job; or those of its tests that start jobs.

Exits with 77, which ctest counts as skipped, where the package was not built, or where this Python
lacks PyTorch or pytest.
"""
import argparse
import importlib.util
import os
import pathlib
import sys

SKIPPED = 77


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--horovodrun", required=True)
    parser.add_argument("--package", required=True, type=pathlib.Path)
    parser.add_argument("--ranks", help="without it: the tests that start jobs")
    parser.add_argument("--build-folder", required=True)
    parser.add_argument("arguments", nargs="*", help="of pytest")
    options = parser.parse_args()
    if not list(options.package.glob("horovodpp/_core*.so")):
        skip("the Python package was not built: -DHVD_BUILD_PYTHON=ON")
    for module in ("torch", "pytest"):
        if importlib.util.find_spec(module) is None:
            skip(f"{sys.executable} has no {module}: scripts/install_dependencies.sh test")
    environment = dict(os.environ, PYTHONPATH=str(options.package), PYTHONDONTWRITEBYTECODE="1",
                       OMP_NUM_THREADS="1", HOROVODRUN=options.horovodrun,
                       # A rank that fails a test leaves the others alone.
                       HOROVOD_STALL_CHECK_TIME_SECONDS="20",
                       HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="40")
    os.chdir(options.build_folder)
    suite = pathlib.Path(__file__).resolve().parent
    pytest = [sys.executable, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider",
              "--rootdir", str(suite), "-c", str(suite / "pytest.ini")]
    if options.ranks is None:
        os.execve(sys.executable, [*pytest, *(options.arguments or [str(suite / "jobs")])],
                  environment)
    # Where a rank fails a test, the others cannot go on.
    os.execve(options.horovodrun, [
        options.horovodrun, "-np", options.ranks, *pytest, "-x", "--ignore", str(suite / "jobs"),
        *(options.arguments or [str(suite)])], environment)


if __name__ == "__main__":
    main()
