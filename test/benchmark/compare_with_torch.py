# SPDX-License-Identifier: Apache-2.0
"""Times training steps of the example models against PyTorch.

    compare_with_torch.py build/dev/test/benchmark/model_benchmark [--models gpt,lstm]
    compare_with_torch.py build/dev/test/benchmark/model_benchmark --threads 2 --compile
    compare_with_torch.py build/dev/test/benchmark/model_benchmark --checkpoint

Processes take turns of one step, in another order in each round; the others wait. All
start with the same weights, use the same batch, and must reach the same loss. Prints
medians and quartiles, the ratio of the medians, and the peak memory above that before
the model was made. With --compile a third process trains by torch.compile.

With --checkpoint each side has two processes: one keeps all tensors, the other
recomputes each block in backward (torch.utils.checkpoint, non-reentrant). Prints the processor time
of forward and backward, the added time of recomputation, and the peak bytes of tensors beyond
parameters and gradients. Each side counts its own bytes.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

from contenders import Contender, contend, slowdown

# As contests() in model_benchmark.cc: the size of a batch, and of a text.
SETTINGS = {
    "mlp": (64, None),
    "lenet": (64, None),
    "resnet18": (64, None),
    "densenet": (64, None),
    "swin": (64, None),
    "gpt": (16, 128),
    "lstm": (32, 64),
    "llama": (16, 128),
    "bert": (16, 128),
    "vit": (64, None),
    "gru": (64, None),
    "unet": (16, None),
}
CHECKPOINTED = "gpt,swin,densenet"


def present_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def most_held(work):
    """The peak bytes of PyTorch's tensors while work() runs, minus the bytes before."""
    import torch

    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        work()
    held = most = 0
    events = profile.profiler.kineto_results.events()
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most


def serve_torch(kind, checkpointing, threads):
    """Does the work of model_benchmark, in PyTorch; checkpointing "compile": by torch.compile."""
    import resource

    import torch

    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "fixtures"))
    import torch_models

    torch.set_num_threads(threads)
    before = present_bytes()
    model = torch_models.build(kind)
    torch_models.fill(model)
    if checkpointing == "block":
        torch_models.checkpoint_blocks(model)
    elif checkpointing == "compile":
        model.compile()
    size, length = SETTINGS[kind]
    inputs, targets = torch_models.batch(kind, {}, size=size, length=length)
    if length:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)

    def compute_gradients():
        loss = torch_models.step_loss(model, inputs, targets)
        loss.backward()
        return loss

    def step():
        optimizer.zero_grad()
        start = time.process_time()
        loss = compute_gradients()
        of_cpu = time.process_time() - start
        optimizer.step()
        return loss.item(), of_cpu

    for line in sys.stdin:
        if line.strip() == "memory":
            print(json.dumps({"step_bytes": most_held(compute_gradients)}), flush=True)
            continue
        seconds, cpu_seconds = [], []
        for _ in range(int(line)):
            start = time.perf_counter()
            loss, of_cpu = step()
            seconds.append(time.perf_counter() - start)
            cpu_seconds.append(of_cpu)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        answer = {"seconds": seconds, "cpu_seconds": cpu_seconds, "loss": loss, "peak_bytes": peak}
        print(json.dumps(answer), flush=True)


def compare(kind, options):
    """The contenders: horovodpp, PyTorch, and PyTorch compiled if asked for."""
    threads = str(options.threads)
    commands = [[options.program, kind, "none", threads]]
    for way in ("none", "compile") if options.compile else ("none",):
        commands.append([sys.executable, __file__, "--serve", kind, way, threads])
    contenders = [Contender(command, options.threads) for command in commands]
    contend(kind, contenders, options.seconds)
    for contender in contenders:
        contender.finish()
    return contenders


def row(kind, contenders):
    quartiles = [statistics.quantiles(contender.seconds, n=4) for contender in contenders]
    memory = [contender.answer["peak_bytes"] / 2**20 for contender in contenders]
    times = [f"{q[1] * 1e3:.2f} ({q[0] * 1e3:.2f}-{q[2] * 1e3:.2f})" for q in quartiles]
    ratios = [f"{quartiles[0][1] / q[1]:.2f}" for q in quartiles[1:]]
    cells = [kind, *times, *ratios, f"{memory[0]:.0f}", f"{memory[1]:.0f}",
             f"{memory[0] / memory[1]:.2f}"]
    return f"| {' | '.join(cells)} |"


def checkpointed_row(kind, program, seconds):
    def side(command):
        return [Contender([*command, kind, how]) for how in ("none", "block")]

    ours, torchs = side([program]), side([sys.executable, __file__, "--serve"])
    contend(kind, [ours[0], torchs[0], ours[1], torchs[1]], seconds)
    cells = []
    for plain, checkpointed in (ours, torchs):
        held = [contender.ask("memory")["step_bytes"] / 2**20 for contender in (plain, checkpointed)]
        cells.append(
            f"{plain.cpu_median() * 1e3:.1f} | {checkpointed.cpu_median() * 1e3:.1f} | "
            f"{slowdown(checkpointed, plain):+.1%} | {held[0]:.1f} | {held[1]:.1f}"
        )
        plain.finish()
        checkpointed.finish()
    return f"| {kind} | {cells[0]} | {cells[1]} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", help="model_benchmark")
    parser.add_argument("--models", help="of: " + ", ".join(SETTINGS))
    parser.add_argument("--seconds", type=float, default=20, help="for each model")
    parser.add_argument(
        "--checkpoint", action="store_true", help="the cost of recomputing each block on both sides"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true", help="also torch.compile")
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        kind, way, threads = [*options.serve, *["none", "1"][len(options.serve) - 1:]]
        serve_torch(kind, way, int(threads))
        return
    if not options.program:
        parser.error("where is model_benchmark?")
    kinds = (options.models or (CHECKPOINTED if options.checkpoint else ",".join(SETTINGS))).split(",")
    for kind in kinds:
        if kind not in SETTINGS:
            parser.error(f"no model {kind}")
    if options.checkpoint:
        columns = "ms | ms, recomputing | costs | MiB | MiB, recomputing"
        sides = [
            " | ".join(f"{side} {column}" for column in columns.split(" | "))
            for side in ("horovodpp", "PyTorch")
        ]
        print(f"| model | {sides[0]} | {sides[1]} |")
        print("|---" * 11 + "|", flush=True)
        for kind in kinds:
            print(checkpointed_row(kind, options.program, options.seconds), flush=True)
        return
    columns = ["model", "horovodpp ms", "PyTorch ms", "time", "horovodpp MiB", "PyTorch MiB",
               "memory"]
    if options.compile:
        columns[3:4] = ["compiled ms", "time", "time of compiled"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|", flush=True)
    for kind in kinds:
        print(row(kind, compare(kind, options)), flush=True)


if __name__ == "__main__":
    main()
