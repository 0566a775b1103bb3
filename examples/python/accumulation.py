# SPDX-License-Identifier: Apache-2.0
"""Accumulates gradients of several small batches, with mixed precision, clips and steps:

    horovodrun -np 2 python examples/python/accumulation.py

The CPU's scaler requires torch 2.3. Keep the order: synchronize() first, so that unscaling and
clipping see the gradients of all ranks; then the step, which must not synchronize again.
"""
import argparse

import torch

import horovodpp.torch as hvd


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--passes", type=int, default=4, help="backward passes per step")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    hvd.init()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.AdamW(model.parameters(), lr=3e-3), model.named_parameters(),
        backward_passes_per_step=options.passes)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)

    weights = torch.linspace(-1, 1, 20)
    generator = torch.Generator().manual_seed(hvd.rank())
    for step in range(options.steps):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(options.passes):
            x = torch.randn(32, 20, generator=generator)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = (model(x).squeeze(1) - x @ weights).square().mean()
            # The sum of the passes' gradients is reduced; the division makes it their mean.
            scaler.scale(loss / options.passes).backward()
            total += loss.item() / options.passes
        optimizer.synchronize()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        with optimizer.skip_synchronize():
            scaler.step(optimizer)
        scaler.update()
        if step % 10 == 0 or step == options.steps - 1:
            mean = hvd.allreduce(torch.tensor(total), name="loss").item()
            if hvd.rank() == 0:
                print(f"step {step}: loss {mean:.4f}", flush=True)


if __name__ == "__main__":
    main()
