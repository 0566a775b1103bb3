# SPDX-License-Identifier: Apache-2.0
"""Times a training step with horovodpp.torch, torch's DDP over gloo, and no communication.

    horovodrun -np 2 python test/bindings/benchmark/compare_with_ddp.py

The three contenders take turns in one run, on equal models and batches. Each step begins on all
ranks together and takes as long as the slowest rank's. The report has medians with quartiles, and
the ratio to a step without communication. It also has the cost of single calls and of a set of
gradients.

    horovodrun -np 2 python test/bindings/benchmark/compare_with_ddp.py --contender horovodpp

Runs the steps of one contender alone, since malloc()'s memory and settings belong to the whole
process. Reports processor time and pages from the system for each step, of rank 0.
"""
import argparse
import copy
import os
import resource
import statistics
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import horovodpp.torch as hvd


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=12, help="that are counted")
    parser.add_argument("--models", default="MLP,small MLP,ResNet-18", help="a list with commas")
    parser.add_argument("--contender", choices=CONTENDERS, help="by itself")
    parser.add_argument("--port", type=int, default=29531, help="of torch.distributed's store")
    return parser.parse_args()


# --- Models ---

def mlp():
    """21 million parameters."""
    return torch.nn.Sequential(
        torch.nn.Linear(784, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096),
        torch.nn.ReLU(), torch.nn.Linear(4096, 250)), torch.randn(64, 784)


def small_mlp():
    """118 thousand parameters."""
    return torch.nn.Sequential(
        torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128),
        torch.nn.ReLU(), torch.nn.Linear(128, 10)), torch.randn(64, 784)


class _Residual(torch.nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            torch.nn.BatchNorm2d(outputs), torch.nn.ReLU(),
            torch.nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(outputs))
        self.shortcut = torch.nn.Identity() if stride == 1 and inputs == outputs else \
            torch.nn.Sequential(torch.nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                torch.nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18():
    """11.7 million parameters, on images of 64 x 64."""
    layers = [torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(64),
              torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [_Residual(inputs, outputs, stride), _Residual(outputs, outputs, 1)]
        inputs = outputs
    layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(512, 1000)]
    return torch.nn.Sequential(*layers), torch.randn(8, 3, 64, 64)


MODELS = {"MLP": mlp, "small MLP": small_mlp, "ResNet-18": resnet18}


# --- Contenders ---

def alone(model):
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def ddp(model):
    return DistributedDataParallel(model), torch.optim.SGD(model.parameters(), lr=0.01)


def ours(model, **options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return model, hvd.DistributedOptimizer(optimizer, model.named_parameters(), **options)


def without_arena(model):
    return ours(model, gradients_in_arena=False)


CONTENDERS = {"no communication": alone, "horovodpp": ours, "without arena": without_arena,
              "DDP over gloo": ddp}


def step(model, optimizer, batch):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()


# --- Measuring ---

def timed(work):
    """Seconds of the slowest rank."""
    hvd.barrier()
    start = time.perf_counter()
    work()
    mine = torch.tensor(time.perf_counter() - start, dtype=torch.float64)
    return hvd.allreduce(mine, op=hvd.Max, name="seconds").item()


def in_turns(works, rounds, warm_up=3):
    """Name -> seconds of each round."""
    seconds = {name: [] for name in works}
    names = list(works)
    for index in range(warm_up + rounds):
        shift = index % len(names)
        for name in names[shift:] + names[:shift]:
            took = timed(works[name])
            if index >= warm_up:
                seconds[name].append(took)
    return seconds


def report(what, seconds, beside=None, unit=1e3, label="ms"):
    if hvd.rank() != 0:
        return
    for name, took in seconds.items():
        low, middle, high = statistics.quantiles(took, n=4)
        ratio = f"  {middle / statistics.median(seconds[beside]):.3f} x" if beside else ""
        print(f"{what:18} {name:18} {middle * unit:9.2f} {label}  "
              f"({low * unit:.2f} to {high * unit:.2f}){ratio}", flush=True)


def compare_steps(name, rounds):
    torch.manual_seed(1)
    model, batch = MODELS[name]()
    works = {}
    for contender, make in CONTENDERS.items():
        made, optimizer = make(copy.deepcopy(model))
        works[contender] = lambda made=made, optimizer=optimizer: step(made, optimizer, batch)
    report(name, in_turns(works, rounds), beside="no communication")


def measure_alone(name, contender, rounds, warm_up=3):
    torch.manual_seed(1)
    model, batch = MODELS[name]()
    made, optimizer = CONTENDERS[contender](model)
    for index in range(warm_up + rounds):
        if index == warm_up:
            before = resource.getrusage(resource.RUSAGE_SELF)
        hvd.barrier()
        step(made, optimizer, batch)
    after = resource.getrusage(resource.RUSAGE_SELF)
    if hvd.rank() == 0:
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        pages = after.ru_minflt - before.ru_minflt
        print(f"{name:18} {contender:18} {seconds / rounds * 1e3:9.2f} ms of processor time, "
              f"{pages / rounds:.0f} pages")


# --- Single calls ---

def compare_calls(rounds, calls=200):
    one, of_gloo = torch.ones(1), torch.ones(1)
    many = [torch.ones(64) for _ in range(calls)]

    def synchronous():
        for _ in range(calls):
            hvd.allreduce_(one, name="one", op=hvd.Sum)

    def in_two_calls():
        for _ in range(calls):
            hvd.synchronize(hvd.allreduce_async_(one, name="two", op=hvd.Sum))

    def by_gloo():
        for _ in range(calls):
            dist.all_reduce(of_gloo)

    seconds = in_turns({"horovodpp": synchronous, "in two calls": in_two_calls,
                        "gloo": by_gloo}, rounds)
    report("4 B, waited for", {name: [took / calls for took in each]
                               for name, each in seconds.items()}, unit=1e6, label="us")

    submissions = []
    for index in range(rounds + 3):
        hvd.barrier()
        start = time.perf_counter()
        handles = [hvd.allreduce_async_(tensor, name=str(number), op=hvd.Sum)
                   for number, tensor in enumerate(many)]
        took = (time.perf_counter() - start) / calls
        for handle in handles:
            hvd.synchronize(handle)
        if index >= 3:
            submissions.append(took)
    report("256 B, submission", {"horovodpp": submissions}, unit=1e6, label="us")


def resnet50_shapes():
    """161 gradients with 25.6 million elements, as in test/benchmark/model_shapes.cc."""
    shapes = []

    def convolution(inputs, outputs, width):
        shapes.extend([(outputs, inputs, width, width), (outputs,), (outputs,)])

    convolution(3, 64, 7)
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            convolution(inputs, width, 1)
            convolution(width, width, 3)
            convolution(width, 4 * width, 1)
            if block == 0:
                convolution(inputs, 4 * width, 1)
            inputs = 4 * width
    return shapes + [(1000, inputs), (1000,)]


def in_arena(shape):
    return hvd.arena_empty(shape).zero_()


def compare_gradient_sets(rounds):
    works = {}
    for name, make in (("own memory", torch.zeros), ("arena", in_arena)):
        gradients = [make(shape) for shape in resnet50_shapes()]

        def reduce(name=name, gradients=gradients):
            for handle in [hvd.allreduce_async_(gradient, name=f"{name}.{number}")
                           for number, gradient in enumerate(gradients)]:
                hvd.synchronize(handle)

        works[name] = reduce
    report("ResNet-50's set", in_turns(works, rounds))


def main():
    options = arguments()
    torch.set_num_threads(1)
    hvd.init()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port))
    dist.init_process_group("gloo", rank=hvd.rank(), world_size=hvd.size())
    try:
        if options.contender:
            for name in options.models.split(","):
                measure_alone(name, options.contender, options.rounds)
            return
        compare_calls(options.rounds)
        compare_gradient_sets(options.rounds)
        for name in options.models.split(","):
            compare_steps(name, options.rounds)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
