# SPDX-License-Identifier: Apache-2.0
"""Times training steps of the example models beside PyTorch, on one thread.

    compare_with_torch.py build/dev/test/benchmark/model_benchmark [--models gpt,lstm]

Two processes take turns, a step each, another one first in each round; while one
computes the other waits. Both begin with the same weights, see the same batch, and
have to arrive at the same loss. Prints medians and quartiles, the ratio of the
medians, and the peak of memory without what each process had before it made a model.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

# As contests() in model_benchmark.cc: the size of a batch, and of a text.
SETTINGS = {
    "mlp": (64, None),
    "lenet": (64, None),
    "resnet18": (64, None),
    "densenet": (64, None),
    "swin": (64, None),
    "gpt": (16, 128),
    "lstm": (32, 64),
}
DEFAULT = "mlp,lenet,resnet18,gpt,lstm"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def present_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def serve_torch(kind):
    """What model_benchmark does, in PyTorch."""
    import resource

    import torch

    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "fixtures"))
    import torch_models

    torch.set_num_threads(1)
    before = present_bytes()
    model = torch_models.build(kind)
    torch_models.fill(model)
    size, length = SETTINGS[kind]
    inputs, targets = torch_models.batch(kind, {}, size=size, length=length)
    if length:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)

    def step():
        optimizer.zero_grad()
        loss = torch_models.step_loss(model, inputs, targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            loss = step()
            seconds.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        print(json.dumps({"seconds": seconds, "loss": loss, "peak_bytes": peak}), flush=True)


class Contender:
    def __init__(self, command):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
        self.seconds = []

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args} ended")
        self.answer = json.loads(answer)
        return self.answer["seconds"]

    def finish(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"{self.process.args} failed")


def compare(kind, program, seconds):
    ours = Contender([program, kind])
    torchs = Contender([sys.executable, __file__, "--serve", kind])
    both = [ours, torchs]
    for contender in both:
        first = contender.steps(3)
        # Short steps in groups, so that changing places does not tell.
        contender.group = max(1, int(0.02 / min(first)))
    losses = [contender.answer["loss"] for contender in both]
    if abs(losses[0] - losses[1]) > 1e-3 * abs(losses[1]):
        raise SystemExit(f"{kind}: the losses are {losses[0]} and {losses[1]}")
    group = min(contender.group for contender in both)
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end or rounds < 5:
        for contender in both if rounds % 2 == 0 else reversed(both):
            contender.seconds += contender.steps(group)
        rounds += 1
    for contender in both:
        contender.finish()
    return both


def row(kind, both):
    quartiles = [statistics.quantiles(contender.seconds, n=4) for contender in both]
    memory = [contender.answer["peak_bytes"] / 2**20 for contender in both]

    def shown(q):
        return f"{q[1] * 1e3:.2f} ({q[0] * 1e3:.2f}-{q[2] * 1e3:.2f})"

    return (
        f"| {kind} | {shown(quartiles[0])} | {shown(quartiles[1])} | "
        f"{quartiles[0][1] / quartiles[1][1]:.2f} | {memory[0]:.0f} | {memory[1]:.0f} | "
        f"{memory[0] / memory[1]:.2f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", help="model_benchmark")
    parser.add_argument("--models", default=DEFAULT, help="of: " + ", ".join(SETTINGS))
    parser.add_argument("--seconds", type=float, default=20, help="for each model")
    parser.add_argument("--serve", choices=SETTINGS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_torch(options.serve)
        return
    if not options.program:
        parser.error("where is model_benchmark?")
    print("| model | horovodpp ms | PyTorch ms | time | horovodpp MiB | PyTorch MiB | memory |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for kind in options.models.split(","):
        if kind not in SETTINGS:
            parser.error(f"no model {kind}")
        print(row(kind, compare(kind, options.program, options.seconds)), flush=True)


if __name__ == "__main__":
    main()
