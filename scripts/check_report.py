#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the predictions of `horovodrun report` against runs.

    scripts/check_report.py build/dev [--rounds 3] [--rates 100mbit 200mbit] [--python PYTHON]

Two ranks on two hosts, which are network namespaces of this machine, take steps of four layers,
whose gradients are reduced while later layers sleep. For each kind of step it prints the step times
on a link of the first rate, the report's prediction for twice the bandwidth, and the step times on
a link of the second rate. Needs root, and the targets horovodrun and horovodpp_python.
"""

import argparse
import os
import pathlib
import re
import secrets
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "horovodrun" / "hosts"))
import network  # noqa: E402

# Milliseconds of work before each of four layers' gradients, and bytes of a layer.
KINDS = {"240 ms of work, 2 MB": (60, 500_000), "80 ms of work, 2 MB": (20, 500_000),
         "20 ms of work, 4 MB": (5, 1_000_000), "8 ms of work, 80 kB": (2, 20_000)}
LAYERS, STEPS, TIMEOUT = 4, 30, 120

PROGRAM = f"""
import sys, time, torch, horovodpp.torch as hvd
hvd.init()
work, size = float(sys.argv[1]) / 1000, int(sys.argv[2])
layers = [torch.ones(size // 4) for _ in range({LAYERS})]
for step in range({STEPS}):
    handles = []
    for number, layer in enumerate(layers):
        time.sleep(work)
        handles.append(hvd.allreduce_async_(layer, name=f"layer{{number}}"))
    for handle in handles:
        hvd.synchronize(handle)
hvd.shutdown()
"""


def run(net, options, kind, folder):
    """The report of a job on the hosts, as text."""
    common = {**os.environ, "HOROVODPP_RENDEZVOUS": f"tcp:{net['a'].address}:29500",
              "HOROVODPP_JOB_KEY": secrets.token_hex(32), "HOROVOD_SIZE": "2",
              "HOROVOD_TIMELINE": str(folder / "{rank}.json"),
              "PYTHONPATH": str(options.build / "bindings")}
    words = [options.python, "-c", PROGRAM, *map(str, KINDS[kind])]
    ranks = [subprocess.Popen(net[host].within(*words), env={**common, "HOROVOD_RANK": str(rank)})
             for rank, host in enumerate("ab")]
    if any(rank.wait(TIMEOUT) for rank in ranks):
        sys.exit("a rank failed")
    report = subprocess.run([options.build / "horovodrun" / "horovodrun", "report",
                             *(folder / f"{rank}.json" for rank in range(2))],
                            check=True, stdout=subprocess.PIPE, text=True)
    return report.stdout


def milliseconds(report, line):
    value, unit = re.search(line + r"\s+([\d.]+) (us|ms|s)\b", report).groups()
    return float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rates", nargs=2, default=("100mbit", "200mbit"))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    reason = network.reason_against()
    if reason:
        sys.exit(reason)
    times = {kind: ([], [], []) for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for place, rate in enumerate(options.rates):
                with network.Network("ab", rate) as net:
                    for kind in KINDS:
                        report = run(net, options, kind, pathlib.Path(folder))
                        times[kind][2 * place].append(milliseconds(report, "step time:"))
                        if place == 0:
                            times[kind][1].append(milliseconds(report, "twice the bandwidth"))
    print(f"| step | {options.rates[0]} | predicted | {options.rates[1]} | error |")
    print("|---|---|---|---|---|")
    for kind, columns in times.items():
        before, predicted, after = map(statistics.median, columns)
        print(f"| {kind} | {before:.1f} ms | {predicted:.1f} ms | {after:.1f} ms |"
              f" {100 * (predicted / after - 1):+.0f} % |")


if __name__ == "__main__":
    main()
