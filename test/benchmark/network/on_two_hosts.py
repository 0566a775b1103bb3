# SPDX-License-Identifier: Apache-2.0
"""Runs network_benchmark on two hosts: network namespaces of this machine, joined by a pair of
virtual wires. Needs root.

    python3 test/benchmark/network/on_two_hosts.py [--before "chrt -f 1"] \\
        build/release/test/benchmark/network_benchmark [OPTION...]

On a busy machine, --before "chrt -f 1" keeps other programs off the cores during a turn. Rows
above 1 MiB then stand still, since the system's own threads need the cores, too. Variables reach
both ranks if their names begin with UCX_ or HOROVODPP_."""

import argparse
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "faults"))
import hosts as hosts_of_this_machine  # noqa: E402
import leftovers  # noqa: E402


def command(pair, before, program):
    passed = [word for name in os.environ if name.startswith(("UCX_", "HOROVODPP_"))
              for word in ("-x", name)]
    # Both hosts are this machine, and each would bind its rank to the same core.
    return pair.hosts[0].within(
        "mpirun", "-np", "2", *pair.options(2), "--bind-to", "none", "--mca", "pml", "ob1",
        "--mca", "btl", "tcp,self", *passed, *before, os.path.abspath(program[0]), *program[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="", help="words before the program")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="with its options")
    options = parser.parse_args()
    reason = hosts_of_this_machine.reason_against()
    if reason:
        sys.exit(f"this machine cannot have two hosts: {reason}")
    if not options.program:
        sys.exit(parser.format_usage())
    with leftovers.Folders(private=False) as folders, \
            hosts_of_this_machine.Hosts(folders, 2) as pair:
        environment = {**os.environ, **pair.environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = command(pair, options.before.split(), options.program)
        sys.exit(subprocess.run(words, check=False, env=environment).returncode)


if __name__ == "__main__":
    main()
