#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of a training on GPUs: with horovodpp.torch on a part of each batch, and, for
comparison, with torch alone on the whole batch. Rank 0 prints the difference of the parameters.

Exits with 77, and the reason, if this torch has no GPU.
"""
import copy
import sys

import torch

STEPS = 5
BATCH = 64
# Means of parts are added in another order than a mean of the whole.
TOLERANCE = 1e-5


def train(model, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


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
    return 0 if apart <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
