#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the backends gloo and horovodpp of torch.distributed, on the CPUs of this machine.

    PYTHONPATH=build/dev/bindings python scripts/compare_torch_backends.py --ranks 2,4
    ... --rows '64 MiB|DDP' --rounds 9
    ... --kill                    # How soon the others learn of a rank's death.

Both backends have a group of the same processes. In each round they take turns. A row has the time
of each one's fastest round: other programs of the machine disturb rounds, and speed up none. Prints
the tables of docs/torch_distributed.md.
"""
import argparse
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BACKENDS = ("gloo", "horovodpp")
SIZES = {"4 B": 1, "1 KiB": 256, "64 KiB": 16 << 10, "1 MiB": 256 << 10, "16 MiB": 4 << 20,
         "64 MiB": 16 << 20}


# --- Of a rank ---

def collectives(group, size):
    """The collectives by name; each moves so many bytes of a rank's input or output."""
    import torch
    import torch.distributed as dist
    gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    ranks = dist.get_world_size(group)
    part = torch.ones(max(1, size // ranks))
    whole = torch.ones(part.numel() * ranks)
    other = torch.ones_like(whole)
    return {
        "all_reduce": lambda: dist.all_reduce(whole, dist.ReduceOp.MAX, group=group),
        "all_gather": lambda: gather(whole, part, group=group),
        "reduce_scatter": lambda: scatter(part, whole, dist.ReduceOp.MAX, group=group),
        "broadcast": lambda: dist.broadcast(whole, 0, group=group),
        "all_to_all": lambda: dist.all_to_all_single(other, whole, group=group)}


def collective_rows(group):
    rows = {}
    for label, size in SIZES.items():
        for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"):
            rows[f"{name}, {label}"] = lambda name=name, size=size: collectives(group, size)[name]
    rows["barrier"] = lambda: (lambda: __import__("torch").distributed.barrier(group))
    return rows


def models():
    import torch

    def mlp():
        return torch.nn.Sequential(*[layer for _ in range(6) for layer in (
            torch.nn.Linear(512, 512), torch.nn.ReLU())]), torch.randn(32, 512)

    class Gpt(torch.nn.Module):
        def __init__(self, width=128, layers=4):
            super().__init__()
            self.embedding = torch.nn.Embedding(512, width)
            self.blocks = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(
                width, 4, 4 * width, 0.0, batch_first=True) for _ in range(layers))
            self.head = torch.nn.Linear(width, 512)

        def forward(self, tokens):
            x = self.embedding(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return {"MLP, 1.6 million parameters": mlp,
            "GPT, 0.9 million parameters": lambda: (Gpt(), torch.randint(512, (4, 64)))}


def ddp(model, group):
    import torch
    return torch.nn.parallel.DistributedDataParallel(model, process_group=group)


def fsdp2(model, group):
    from torch.distributed._composable.fsdp import fully_shard
    from torch.distributed.device_mesh import DeviceMesh
    mesh = DeviceMesh.from_group(group, "cpu")
    for part in getattr(model, "blocks", model):
        if next(part.parameters(), None) is not None:
            fully_shard(part, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def step_rows(group):
    import torch

    def stepping(make, wrap):
        torch.manual_seed(1)
        model, batch = make()
        model = wrap(model, group)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step():
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
        return step

    return {f"{wrap.__name__.upper()} step, {name}": (
        lambda make=make, wrap=wrap: stepping(make, wrap))
        for name, make in models().items() for wrap in (ddp, fsdp2)}


def seconds_of(call, least, agree):
    """Seconds per call; all ranks make as many calls."""
    call()
    begin = time.perf_counter()
    call()
    count = agree(max(1, int(least / max(1e-6, time.perf_counter() - begin))))
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def be_rank(options):
    import torch
    import torch.distributed as dist
    import horovodpp.torch.backend  # noqa: F401
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    groups = {name: dist.new_group(backend=name) for name in BACKENDS}

    def agree(count):
        number = torch.tensor([min(count, 5000)])
        dist.broadcast(number, 0)
        return int(number)

    rows = {name: {} for name in BACKENDS}
    for name, group in groups.items():
        rows[name] |= collective_rows(group) | step_rows(group)
    for row in rows["gloo"]:
        if not re.search(options.rows, row):
            continue
        calls = {name: rows[name][row]() for name in BACKENDS}
        for call in calls.values():
            for _ in range(10 if "step" in row else 24):
                call()
        seen = {name: [] for name in BACKENDS}
        for number in range(options.rounds):
            for name in BACKENDS[::1 if number % 2 else -1]:
                dist.barrier()
                seen[name].append(seconds_of(calls[name], options.seconds, agree))
        if dist.get_rank() == 0:
            best = [min(times) for times in seen.values()]
            print("| " + " | ".join([row, *map(written, best), f"{best[1] / best[0]:.2f}"]) + " |",
                  flush=True)
        dist.barrier()


def written(seconds):
    unit, scale = ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    return f"{seconds * scale:.3g} {unit}"


def die_in_backward(backend, folder):
    """Rank 1 kills itself in the fifth backward; the others write when they get which error."""
    import torch
    import torch.distributed as dist
    import horovodpp.torch.backend  # noqa: F401
    dist.init_process_group(backend)
    model, batch = models()["MLP, 1.6 million parameters"]()
    model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)

    def die(*_):
        (folder / "died").write_text(repr(time.monotonic()))
        os.kill(os.getpid(), signal.SIGKILL)

    try:
        for number in range(10):
            if number == 5 and dist.get_rank() == 1:
                model.module[0].weight.register_hook(die)
            model(batch).square().mean().backward()
    except Exception as error:
        (folder / f"{dist.get_rank()}").write_text(f"{time.monotonic()!r} {error}")
    os._exit(0)


# --- Of the job ---

def start(ranks, arguments):
    import torch.distributed as dist
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    environment = dict(os.environ, MASTER_ADDR="localhost", MASTER_PORT=str(store.port),
                       WORLD_SIZE=str(ranks), OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore",
                       TORCHELASTIC_USE_AGENT_STORE="True", TORCH_CPP_LOG_LEVEL="FATAL")
    processes = [subprocess.Popen([sys.executable, __file__, *arguments],
                                  env=dict(environment, RANK=str(rank)))
                 for rank in range(ranks)]
    return store, processes


def compare(ranks, options):
    print(f"\n| {ranks} ranks | gloo | horovodpp | ratio |\n|---|---:|---:|---:|", flush=True)
    _, processes = start(ranks, ["--rank", "--rows", options.rows, "--rounds", str(options.rounds),
                                 "--seconds", str(options.seconds)])
    if any([process.wait() for process in processes]):
        raise SystemExit("a rank failed")


def compare_deaths(ranks, options):
    print(f"\n| {ranks} ranks, one killed | the others know after | the error |\n|---|---:|---|")
    for backend in BACKENDS:
        latest, text = [], ""
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                _, processes = start(ranks, ["--rank", "--kill", backend, "--folder", name])
                for process in processes:
                    process.wait(timeout=120)
                died = float((folder / "died").read_text())
                for rank in set(range(ranks)) - {1}:
                    when, text = (folder / str(rank)).read_text().split(" ", 1)
                    latest.append(float(when) - died)
        print(f"| {backend} | {written(statistics.median(latest))}, at most "
              f"{written(max(latest))} | {' '.join(text.split())[:200]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rows", default="", metavar="PATTERN")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="for each row of a round")
    parser.add_argument("--kill", nargs="?", const="all", metavar="BACKEND")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        return die_in_backward(options.kill, options.folder) if options.kill else be_rank(options)
    for ranks in map(int, options.ranks.split(",")):
        (compare_deaths if options.kill else compare)(ranks, options)


if __name__ == "__main__":
    main()
