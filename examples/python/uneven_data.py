# SPDX-License-Identifier: Apache-2.0
"""Trains where ranks have different amounts of data, with uneven():

    horovodrun -np 2 python examples/python/uneven_data.py

A rank that runs out of batches joins: from then on it adds nothing to the others' reductions.
Each step follows the mean over the present samples. The last rank to join has the newest
parameters, and sends them to all.
"""
import argparse

import torch

import horovodpp.torch as hvd


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=20, help="of rank 0; others have more")
    return parser.parse_args()


def main() -> None:
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
        batches = hvd.uneven([torch.randn(16, 10, generator=generator)
                              for _ in range(options.batches + 5 * hvd.rank())], model, optimizer)
        for x in batches:
            optimizer.zero_grad()
            loss = (model(x).squeeze(1) - x @ weights).square().sum()
            loss.backward()
            optimizer.step(weight=len(x))
            total += loss.item() / len(x)
        sums = hvd.allreduce(torch.tensor([total, len(batches)]), op=hvd.Sum)
        if hvd.rank() == 0:
            print(f"epoch {epoch}: loss {sums[0] / sums[1]:.4f} over {int(sums[1])} batches; "
                  f"rank {batches.last_rank} joined last", flush=True)


if __name__ == "__main__":
    main()
