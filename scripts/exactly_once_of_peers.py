#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the models of docs/exactly_once.md with PyTorch's DistributedDataParallel.

    exactly_once_of_peers.py            prints the table
    exactly_once_of_peers.py --write    puts it into docs/exactly_once.md
    exactly_once_of_peers.py --texts    also prints the errors
    exactly_once_of_peers.py --only "four passes"

Each cell is a job of its own: ranks that are processes, over gloo. They train one of the models of
test/optim/distributed/exactly_once_test.cc for three steps, with torch.utils.checkpoint in one of
its variants around the blocks. After each step their weights are compared, to 1e-9, with the
weights of one process that computes the mean of all ranks' gradients. A job that has not ended in
time hangs.
"""
import argparse
import json
import os
import pathlib
import signal
import socket
import sys
import tempfile
import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "exactly_once.md"
BEGIN = "<!-- exactly_once_of_peers.py writes what follows -->\n"
END = "<!-- until here -->\n"
RANKS = 2
STEPS = 3
RATE = 0.125
SECONDS = 90
TOLERANCE = 1e-9
CHECKPOINTS = ["plain", "reentrant", "non-reentrant"]
MODES = {"DDP": {}, "DDP, `find_unused_parameters`": {"find_unused_parameters": True}}


class Model(nn.Module):
    """Three weights; the structure defines forward()."""

    def __init__(self, is_sparse):
        super().__init__()
        weights = [torch.tensor([0.25 * ((k * 5 + i * 3) % 7) - 0.6 for k in range(9)],
                                dtype=torch.float64).reshape(3, 3) for i in range(3)]
        self.w0 = nn.Parameter(weights[0])
        self.w2 = nn.Parameter(weights[2])
        # DDP asks modules whether their gradients are sparse.
        if is_sparse:
            self.table = nn.Embedding(3, 3, sparse=True, _weight=weights[1])
        else:
            self.w1 = nn.Parameter(weights[1])

    def weights(self):
        return [self.w0, self.table.weight if hasattr(self, "table") else self.w1, self.w2]

    def forward(self, compute):
        return compute()


class Replica:
    def __init__(self, style, is_sparse):
        self.model = Model(is_sparse)
        self.weights = self.model.weights()
        self.call = self.model
        self.style = style
        self.rank = 0
        self.step = 0

    def input(self, number=0):
        values = [0.125 * ((k + 3 * self.rank + 5 * self.step + 2 * number) % 9) - 0.5
                  for k in range(6)]
        return torch.tensor(values, dtype=torch.float64).reshape(2, 3).requires_grad_()

    def block(self, i):
        return lambda x: torch.tanh(x @ self.weights[i])

    def run(self, blocks, x):
        for block in blocks:
            if self.style == "plain":
                x = block(x)
            else:
                x = checkpoint(block, x, use_reentrant=self.style == "reentrant")
        return x

    def loss(self, blocks, number=0):
        return self.call(lambda: self.run(blocks, self.input(number)).sum())

    def backward_of(self, blocks, number=0):
        self.loss(blocks, number).backward()


def plain(r):
    r.backward_of([r.block(0), r.block(1), r.block(2)])


def tied(r):
    r.backward_of([r.block(0), r.block(1), lambda x: torch.tanh(x @ r.weights[0].t()), r.block(2)])


def used_twice(r):
    r.backward_of([r.block(0), r.block(1), r.block(0), r.block(2)])


def in_and_outside(r):
    def compute():
        y = r.run([r.block(0), r.block(1), r.block(2)], r.input())
        return (y * r.weights[1].sum()).sum()
    r.call(compute).backward()


def retained(r):
    loss = r.loss([r.block(0), r.block(1), r.block(2)])
    loss.backward(retain_graph=True)
    loss.backward()


def unused(r):
    r.backward_of([r.block(0), r.block(2)])


def branch(r):
    r.backward_of([r.block(0), r.block(1 if r.rank % 2 == 0 else 2)])


def frozen_later(r):
    r.weights[1].requires_grad_(r.step != 1)
    plain(r)


def frozen_base(r):
    r.weights[1].requires_grad_(False)
    base, adapter = r.block(1), r.block(2)
    adapted = lambda x: base(x) + adapter(x)  # noqa: E731
    r.backward_of([r.block(0), adapted, adapted])


def two_losses(r):
    r.backward_of([r.block(0), r.block(1)])
    r.backward_of([r.block(0), r.block(2)], 1)


def four_passes(r):
    for number in range(4):
        r.backward_of([r.block(0), r.block(1), r.block(2)], number)


def sparse(r):
    rows = [(2 * r.rank + r.step + i) % 3 for i in range((r.rank + r.step) % 3)]
    places = torch.tensor(rows, dtype=torch.int64)
    look_up = lambda x: torch.tanh(x + r.model.table(places).sum(0))  # noqa: E731
    r.backward_of([r.block(0), look_up, r.block(2), look_up])


def grad_before(r):
    x = r.input()
    torch.autograd.grad((x @ r.weights[2]).sum(), [x, r.weights[2]])
    plain(r)


STRUCTURES = {
    "plain": plain, "tied weights": tied, "a module used twice": used_twice,
    "in a region and outside": in_and_outside, "retain_graph twice": retained,
    "an unused parameter": unused, "a branch that differs by rank": branch,
    "frozen later": frozen_later, "a frozen base with adapters": frozen_base,
    "two losses": two_losses, "four passes": four_passes, "sparse embedding": sparse,
    "grad() before backward": grad_before}


def dense(gradient):
    return gradient.to_dense() if gradient.is_sparse else gradient


def values(weights):
    return [weight.detach().flatten().tolist() for weight in weights]


def expected(name):
    """The weights after each step, of one process without checkpoints."""
    replica = Replica("plain", name == "sparse embedding")
    result = []
    for replica.step in range(STEPS):
        sums = [None] * 3
        for replica.rank in range(RANKS):
            replica.model.zero_grad()
            STRUCTURES[name](replica)
            for i, weight in enumerate(replica.weights):
                if weight.grad is not None:
                    gradient = dense(weight.grad) / RANKS
                    sums[i] = gradient if sums[i] is None else sums[i] + gradient
        with torch.no_grad():
            for weight, gradient in zip(replica.weights, sums):
                if gradient is not None:
                    weight -= RATE * gradient
        result.append(values(replica.weights))
    return result


def train(name, style, options, rank, port):
    """One rank; returns the weights after each step."""
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                                   world_size=RANKS)
    replica = Replica(style, name == "sparse embedding")
    replica.rank = rank
    # DDP requires that permanently frozen parameters are frozen before.
    replica.weights[1].requires_grad_(name != "a frozen base with adapters")
    replica.call = DistributedDataParallel(replica.model, **options)
    optimizer = torch.optim.SGD(replica.model.parameters(), lr=RATE)
    result = []
    for replica.step in range(STEPS):
        optimizer.zero_grad()
        STRUCTURES[name](replica)
        optimizer.step()
        result.append(values(replica.weights))
    return result


def run_rank(name, style, options, rank, port, path):
    """Runs a rank in its own process, and exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        report = {"weights": train(name, style, options, rank, port)}
    except Exception as error:  # Every exception is a result.
        report = {"error": " ".join(str(error).split())}
    path.with_suffix(".part").write_text(json.dumps(report))
    path.with_suffix(".part").rename(path)
    os._exit(0)


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def reports_of(name, style, options):
    """The report of each rank; None if a rank has sent none in time."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / str(rank) for rank in range(RANKS)]
        children = []
        for rank, path in enumerate(paths):
            child = os.fork()
            if child == 0:
                run_rank(name, style, options, rank, port, path)
            children.append(child)
        deadline = time.monotonic() + SECONDS
        # A failed rank leaves the others waiting: its error is then the result.
        while time.monotonic() < deadline:
            reports = [json.loads(path.read_text()) if path.exists() else None for path in paths]
            if all(reports) or any(report and "error" in report for report in reports):
                break
            time.sleep(0.05)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return reports


def verdict(name, style, options):
    """The table's entry, and the full error."""
    reports = reports_of(name, style, options)
    errors = [report["error"] for report in reports if report and "error" in report]
    if errors:
        return "error", errors[0]
    if not all(reports):
        return "hangs", ""
    right = torch.tensor(expected(name), dtype=torch.float64)
    for report in reports:
        if not torch.allclose(torch.tensor(report["weights"], dtype=torch.float64), right,
                              rtol=TOLERANCE, atol=TOLERANCE):
            return "**wrong**", ""
    return "equal", ""


def short(error):
    """The beginning of an error, for a footnote."""
    sentence = error.split(". ")[0].split(" This ")[0]
    return sentence if len(sentence) <= 160 else sentence[:157] + "…"


def table(names, show_texts):
    columns = [(mode, options, style) for mode, options in MODES.items() for style in CHECKPOINTS]
    lines = ["| model | " + " | ".join(f"{mode}: {style}" for mode, _, style in columns) + " |",
             "|---|" + ":-:|" * len(columns)]
    notes = {}
    for name in names:
        cells = []
        for mode, options, style in columns:
            cell, error = verdict(name, style, options)
            if error:
                note = notes.setdefault(short(error), len(notes) + 1)
                cell = f"error {note}"
                if show_texts:
                    print(f"{name}, {mode}, {style}: {error}\n", file=sys.stderr)
            cells.append(cell)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"{number}. “{text}”" for text, number in notes.items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--only", action="append", choices=STRUCTURES, metavar="MODEL")
    options = parser.parse_args()
    if options.only and options.write:
        parser.error("a part of the table is no table to write")
    torch.set_num_threads(1)
    made = f"PyTorch {torch.__version__.split('+')[0]}, {RANKS} ranks, gloo:\n\n"
    made += table(options.only or list(STRUCTURES), options.texts)
    if not options.write:
        print(made)
        return
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
