# SPDX-License-Identifier: Apache-2.0
"""Processes that take turns at training steps, for fair comparisons on any machine.

    plain, other = (Contender([program, "gpt", how]) for how in ("none", "block"))
    contend("gpt", [plain, other], seconds=20)
    print(slowdown(other, plain))
"""

import json
import os
import statistics
import subprocess
import tempfile
import time


def environment(threads):
    """Idle threads sleep, since they would take time from the other contender."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(names, str(threads)), "OMP_WAIT_POLICY": "passive",
            "KINETO_LOG_LEVEL": "99"}


class Ended(SystemExit):
    """A contender did not answer; the message is its standard error."""


class Contender:
    def __init__(self, command, threads=1):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment(threads),
        )
        self.seconds = []
        self.cpu_seconds = []  # Of forward and backward.
        self.group = 1  # Steps in a row.

    def ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            self.process.wait()
            self.errors.seek(0)
            raise Ended(self.errors.read().strip() or f"{self.process.args} ended")
        return json.loads(answer)

    def steps(self, count):
        self.answer = self.ask(count)
        return self.answer["seconds"]

    def cpu_median(self):
        return statistics.median(self.cpu_seconds)

    def finish(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"{self.process.args} failed")


def contend(kind, contenders, seconds, least_rounds=5):
    """Lets the contenders take turns, and fills each one's seconds."""
    for contender in contenders:
        first = contender.steps(3)
        # Short steps run in groups, so that switching contenders costs little.
        contender.group = max(1, int(0.02 / min(first)))
    losses = [contender.answer["loss"] for contender in contenders]
    if max(losses) - min(losses) > 1e-3 * abs(losses[-1]):
        raise SystemExit(f"{kind}: the losses are {losses}")
    group = min(contender.group for contender in contenders)
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end or rounds < least_rounds:
        first = rounds % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            contender.seconds += contender.steps(group)
            contender.cpu_seconds += contender.answer["cpu_seconds"]
        rounds += 1


def slowdown(contender, other):
    """The relative increase of the processor time of forward and backward over the other's in
    the same round: 0.1 is 10 %. The median of the rounds is robust against disturbed rounds.
    Processor time, unlike elapsed time, excludes other processes' work."""
    return statistics.median(a / b for a, b in zip(contender.cpu_seconds, other.cpu_seconds)) - 1
