# SPDX-License-Identifier: Apache-2.0
"""Runs network_benchmark on two hosts: network namespaces of this machine, joined by a pair of
virtual wires. Needs root.

    python3 test/benchmark/network/on_two_hosts.py build/release/test/benchmark/network_benchmark \\
        [OPTION...]

The environment reaches both ranks where its names begin with UCX_ or HOROVODPP_."""

import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "faults"))
import hosts as hosts_of_this_machine  # noqa: E402
import leftovers  # noqa: E402


def command(pair, program, options):
    passed = [word for name in os.environ if name.startswith(("UCX_", "HOROVODPP_"))
              for word in ("-x", name)]
    # Both hosts are this machine, and each would bind its rank to the same core.
    return pair.hosts[0].within("mpirun", "-np", "2", *pair.options(2), "--bind-to", "none",
                                "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", *passed, *os.environ.get("NB_PREFIX","").split(),
                                os.path.abspath(program), *options)


def main():
    reason = hosts_of_this_machine.reason_against()
    if reason:
        sys.exit(f"this machine cannot have two hosts: {reason}")
    with leftovers.Folders(private=False) as folders, \
            hosts_of_this_machine.Hosts(folders, 2) as pair:
        environment = {**os.environ, **pair.environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        sys.exit(subprocess.run(command(pair, sys.argv[1], sys.argv[2:]), check=False,
                                env=environment).returncode)


if __name__ == "__main__":
    main()
