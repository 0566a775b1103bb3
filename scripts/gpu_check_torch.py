#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of a training on GPUs: with horovodpp.torch on a part of each batch, and, for
comparison, with torch alone on the whole batch. Rank 0 prints the difference of the parameters,
and the time of a step of many small layers, on each rank with horovodpp and alone.

Exits with 77, and the reason, if there is no torch or no GPU.
"""
import copy
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("there is no torch")
    sys.exit(77)

STEPS = 5
BATCH = 64
# Means of parts are added in another order than a mean of the whole.
TOLERANCE = 1e-5


def train(model, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


def milliseconds_of_steps(hvd, device):
    """The medians of a step with horovodpp, and of one alone, by turns."""
    layers, width = 50, 256
    alone = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)]).to(device)
    shared = copy.deepcopy(alone)
    optimizers = [
        hvd.DistributedOptimizer(torch.optim.SGD(shared.parameters(), lr=0.1),
                                 named_parameters=shared.named_parameters()),
        torch.optim.SGD(alone.parameters(), lr=0.1)]
    batches = [(torch.randn(BATCH, width, device=device),) * 2]
    times = ([], [])
    for _ in range(50):
        for model, optimizer, mine in zip((shared, alone), optimizers, times):
            hvd.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            train(model, optimizer, batches)
            torch.cuda.synchronize()
            mine.append(1e3 * (time.perf_counter() - begin))
    return [statistics.median(mine[10:]) for mine in times]


def main():
    if not torch.cuda.is_available():
        print("this torch has no GPU")
        return 77
    import horovodpp.torch as hvd
    hvd.init()
    device = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(),
                                torch.nn.Linear(128, 8)).to(device)
    alone = copy.deepcopy(model)
    batches = [(torch.randn(BATCH, 64).to(device), torch.randn(BATCH, 8).to(device))
               for _ in range(STEPS)]
    mine = [(inputs.chunk(hvd.size())[hvd.rank()], targets.chunk(hvd.size())[hvd.rank()])
            for inputs, targets in batches]
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                                         named_parameters=model.named_parameters())
    train(model, optimizer, mine)
    train(alone, torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9), batches)
    apart = max((a - b).abs().max().item()
                for a, b in zip(model.parameters(), alone.parameters()))
    if hvd.rank() == 0:
        print(f"{apart:.1e} apart after {STEPS} steps")
    shared_ms, alone_ms = milliseconds_of_steps(hvd, device)
    if hvd.rank() == 0:
        print(f"step of 50 layers: {shared_ms:.2f} ms, alone {alone_ms:.2f} ms")
    return 0 if apart <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
