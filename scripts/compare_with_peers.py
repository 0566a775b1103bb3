#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares horovodpp with MPI, gloo and Horovod on this machine, and checks the claims.

    scripts/compare_with_peers.py build/dev
    scripts/compare_with_peers.py build/dev --rows '64 MiB|barrier' --ranks 2 --quick
    scripts/compare_with_peers.py build/dev --torch-python PYTHON --write docs/benchmarks.md

Prints a table: medians of the rounds, with the quartiles, and their ratio to the better
of MPI's two columns. In each round every contender runs once, in jobs of its own; each
round begins with another contender. docs/benchmarks.md explains the table.

Needs the targets horovodrun, own_peer and mpi_peer; gloo if the given Python has torch,
Horovod if it has that; and root for several hosts.
"""

import argparse
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "benchmark" / "peers"))
import jobs  # noqa: E402
import machine  # noqa: E402
import table  # noqa: E402
from rows import ROWS, SETTINGS  # noqa: E402


def batches(rows):
    """The measurements of one job: for each setting all rows but those that run alone."""
    for key in SETTINGS:
        together = [row for row in rows if row.setting == key and not row.alone]
        yield from ([together] if together else [])
        yield from ([row] for row in rows if row.setting == key and row.alone)


def show(doing):
    if sys.stderr.isatty():
        print(f"\r{doing}\033[K", end="", file=sys.stderr, flush=True)


def measure_batch(contender, batch, hosts, options):
    setting = SETTINGS[batch[0].setting]
    if isinstance(hosts[setting], str):
        return {row: hosts[setting] for row in batch}
    parts = [[row] for row in batch] if contender.starts_anew else [batch]
    found = {}
    for rows in parts:
        job = jobs.Job(contender, setting, hosts[setting],
                       options.timeout * (4 if len(rows) > 1 else 1))
        found |= jobs.measure(job, rows, options.seconds)
    return found


def measure_all(rows, contenders, hosts, options):
    results = table.Results([contender.name for contender in contenders])
    able = [contender for contender in contenders if not contender.missing]
    given_up = set()
    for number in range(options.rounds):
        for batch in batches(rows):
            first = number % len(able)
            for contender in able[first:] + able[:first]:
                if (contender.name, batch[0]) in given_up:
                    continue
                show(f"round {number + 1}: {batch[0].setting}, {batch[0].name}, "
                     f"{contender.name}")
                found = measure_batch(contender, batch, hosts, options)
                results.add(contender.name, found)
                # A contender that does not end once is not tried again.
                if batch[0].alone and isinstance(found[batch[0]], str):
                    given_up.add((contender.name, batch[0]))
    show("")
    return results


def head(options):
    rounds = f"{options.rounds} round{'s' * (options.rounds != 1)}"
    return (f"{machine.described()}; {rounds} of {options.seconds:g} s for each row; load {os.getloadavg()[0]:.1f} in the end.")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a CMake build, as build/dev")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each row of a round")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS",
                        help="for a row that has a job of its own; four times this for others")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--rows", default="", metavar="PATTERN", help="those that match")
    parser.add_argument("--settings", default=",".join(SETTINGS), help="some of: %(default)s")
    parser.add_argument("--ranks", default="2,3,4", help="some of these numbers")
    parser.add_argument("--no-hosts", action="store_true", help="nothing between hosts")
    parser.add_argument("--torch-python", metavar="PYTHON", default=sys.executable,
                        help="where gloo is; '': without it")
    parser.add_argument("--horovod-python", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.03
    return options


def chosen(options):
    ranks = {int(number) for number in options.ranks.split(",")}
    rows = [row for row in ROWS if re.search(options.rows, row.name)
            and row.setting in options.settings.split(",")
            and SETTINGS[row.setting].ranks in ranks
            and not (options.no_hosts and SETTINGS[row.setting].hosts > 1)]
    if not rows:
        raise SystemExit("no row matches; there are:\n" +
                         "\n".join(f"{row.setting}: {row.name}" for row in ROWS))
    return rows


def main():
    options = arguments()
    rows = chosen(options)
    contenders = jobs.contenders(options.build.resolve(), options.torch_python,
                                 options.horovod_python)
    with jobs.hosts_of({SETTINGS[row.setting] for row in rows}) as hosts:
        results = measure_all(rows, contenders, hosts, options)
    missing = {one.name: one.missing for one in contenders if one.missing}
    text = f"{head(options)}\n\n{table.table(rows, results, jobs.CORES, missing)}"
    print(text)
    if options.write:
        table.write(options.write, text)


if __name__ == "__main__":
    main()
