#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds presets, runs their tests together, and reports the time that each took.

    scripts/build_and_test.py --jobs 2 dev asan tsan

The output ends with ctest's own closing lines, preceded by the seconds of each preset and the
slowest tests. The exit code is ctest's, or that of a failed build.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLOWEST = 10

#   12/345 Test #67: asan.runtime.1 ........   Passed   12.34 sec
RESULT = re.compile(r"\s*\d+/\d+ Test\s+#\d+: (\S+) .*\s(\d+\.\d+) sec\s*$")
CLOSING = re.compile(r"\d+% tests passed, \d+ tests? failed out of \d+")


def seconds_of(line):
    """The test that a line of ctest's reports, and its seconds; otherwise None."""
    found = RESULT.match(line)
    return (found[1], float(found[2])) if found else None


def preset_of(test, presets):
    """The preset of a test: the prefix of its name, or `dev`."""
    first = test.split(".")[0]
    return first if first in presets else "dev"


def summary(builds, tests):
    """The lines of the time report.

    `builds`: the seconds of each preset's build, in order; `tests`: the seconds of each test.
    """
    sums = dict.fromkeys(builds, 0.0)
    for test, seconds in tests.items():
        preset = preset_of(test, builds)
        sums[preset] = sums.get(preset, 0.0) + seconds
    yield "Seconds (tests of a preset: added up, though some run side by side)"
    yield f"  {'preset':<10}{'build':>8}{'tests':>8}"
    for preset, seconds in sums.items():
        yield f"  {preset:<10}{builds.get(preset, 0):>8.0f}{seconds:>8.0f}"
    yield f"The {min(SLOWEST, len(tests))} slowest tests"
    slowest = sorted(tests.items(), key=lambda item: -item[1])[:SLOWEST]
    for test, seconds in slowest:
        yield f"  {seconds:>8.1f}  {test}"


def with_summary(lines, builds):
    """ctest's lines, with the summary before the closing ones."""
    tests = {}
    told = False
    for line in lines:
        result = seconds_of(line)
        if result:
            tests[result[0]] = result[1]
        if CLOSING.match(line) and not told:
            told = True
            yield from (text + "\n" for text in summary(builds, tests))
            yield "\n"
        yield line


def python_options(preset, root=ROOT):
    """The options of `dev` if scripts/install_dependencies.sh has installed PyTorch."""
    python = root / "build" / "tools" / "python" / "bin" / "python"
    if preset != "dev" or not python.exists():
        return []
    return ["-DHVD_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={python}",
            f"-DHVD_TORCH_PYTHON={python}"]


def mpi_options(preset, root=ROOT):
    """The additional MPIs, if installed, for which `dev` builds modules."""
    wrappers = [root / "build" / "tools" / mpi / "bin" / "mpicxx" for mpi in ("mpich", "openmpi5")]
    found = [str(wrapper) for wrapper in wrappers if wrapper.exists()]
    return [f"-DHVD_MORE_MPI={';'.join(found)}"] if preset == "dev" and found else []


def header_options(preset, root=ROOT):
    """The option that gives `dev` the headers of CUDA and NCCL, if installed."""
    packages = root / "build" / "tools" / "gpu_headers" / "lib"
    options = []
    for variable, header in (("CUDA", "cu13/include/cuda.h"), ("NCCL", "nccl/include/nccl.h")):
        found = sorted(packages.glob(f"python3*/site-packages/nvidia/{header}"))
        if preset == "dev" and found:
            options.append(f"-DHVD_{variable}_INCLUDE_DIR={found[-1].parent}")
    return options


def build_all(presets, jobs, all_tests):
    """Builds the presets; returns the seconds of each, in their order.

    `dev` is built last: only it needs what pip installs meanwhile.
    """
    seconds = {}
    installer = [ROOT / "scripts" / "install_dependencies.sh", "tools"]
    with subprocess.Popen(installer, cwd=ROOT) as tools:
        for preset in sorted(presets, key=lambda preset: preset == "dev"):
            if preset == "dev" and tools.wait() != 0:
                raise subprocess.CalledProcessError(tools.returncode, installer)
            seconds[preset] = build(preset, jobs, all_tests)
    return {preset: seconds[preset] for preset in presets}


def build(preset, jobs, all_tests):
    """Configures and builds a preset; returns the seconds."""
    print(f"== preset {preset}", flush=True)
    begin = time.monotonic()
    subprocess.run(["cmake", "--preset", preset, "--log-level=WARNING",
                    f"-DHVD_ALL_TESTS={'ON' if all_tests else 'OFF'}", *python_options(preset),
                    *mpi_options(preset), *header_options(preset)],
                   cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["cmake", "--build", "--preset", preset, "-j", str(jobs)], cwd=ROOT,
                   check=True)
    return time.monotonic() - begin


def test(builds, jobs):
    """Runs the tests of all builds as one run of ctest; returns its exit code.

    Runs one more at a time than `jobs`: tests of launchers mostly wait. OpenMP's threads sleep
    while they wait, since the tests share the cores.
    """
    folder = ROOT / "build" / "all"
    folder.mkdir(parents=True, exist_ok=True)
    folders = " ".join(f"../{preset}" for preset in builds)
    (folder / "CTestTestfile.cmake").write_text(f"subdirs({folders})\n")
    command = ["ctest", "-j", str(jobs + 1), "--output-on-failure", "--no-tests=error",
               "--no-label-summary"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True,
                          errors="replace",
                          env={"OMP_WAIT_POLICY": "passive", **os.environ}) as ctest:
        for line in with_summary(ctest.stdout, builds):
            print(line, end="", flush=True)
    return ctest.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all", action="store_true",
                        help="also the tests that take sanitizers long")
    parser.add_argument("presets", nargs="+")
    options = parser.parse_args()
    try:
        builds = build_all(options.presets, options.jobs, options.all)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return test(builds, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
