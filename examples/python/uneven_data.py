# SPDX-License-Identifier: Apache-2.0
"""Trains where ranks have different amounts of data, with join():

    horovodrun -np 2 python examples/python/uneven_data.py

A rank that runs out of batches joins: from there on it adds nothing to what the others reduce.
Averages still divide by all ranks. The last rank to join has the newest parameters, and sends them
to all.
"""
import argparse

import torch

import horovodpp.torch as hvd


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=20, help="of rank 0; others have more")
    return parser.parse_args()


def main():
    options = arguments()
    hvd.init()
    torch.manual_seed(1)
    model = torch.nn.Linear(10, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.05),
                                         model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)

    weights = torch.linspace(-1, 1, 10)
    generator = torch.Generator().manual_seed(hvd.rank())
    for epoch in range(options.epochs):
        total = 0.0
        batches = options.batches + 5 * hvd.rank()
        for _ in range(batches):
            x = torch.randn(16, 10, generator=generator)
            optimizer.zero_grad()
            loss = (model(x).squeeze(1) - x @ weights).square().mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
        last = hvd.join()
        hvd.broadcast_parameters(model.state_dict(), root_rank=last)
        sums = hvd.allreduce(torch.tensor([total, batches]), op=hvd.Sum)
        if hvd.rank() == 0:
            print(f"epoch {epoch}: loss {sums[0] / sums[1]:.4f} over {int(sums[1])} batches; "
                  f"rank {last} joined last", flush=True)


if __name__ == "__main__":
    main()
