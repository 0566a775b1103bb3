# SPDX-License-Identifier: Apache-2.0
"""Trains a generator and a critic, each with an optimizer of its own:

    horovodrun -np 2 python examples/python/gan.py

The generator learns to turn noise into points on a circle. During its training the critic is
frozen: unused gradients are neither computed nor reduced.
"""
import argparse
import math

import torch
import torch.nn.functional as F

import horovodpp.torch as hvd


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64, help="of each rank")
    return parser.parse_args()


def mlp(*widths: int) -> torch.nn.Module:
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(before, after), torch.nn.LeakyReLU(0.2)]
    return torch.nn.Sequential(*layers[:-1])


def main() -> None:
    options = arguments()
    hvd.init()
    torch.manual_seed(1)
    generator, critic = mlp(2, 64, 64, 2), mlp(2, 64, 64, 1)
    of_generator, of_critic = (
        hvd.DistributedOptimizer(torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.99)),
                                 model.named_parameters()) for model in (generator, critic))
    for model in (generator, critic):
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)

    random = torch.Generator().manual_seed(hvd.rank())
    for step in range(options.steps):
        angles = 2 * math.pi * torch.rand(options.batch_size, generator=random)
        real = torch.stack([angles.cos(), angles.sin()], dim=1)
        noise = torch.randn(options.batch_size, 2, generator=random)

        of_critic.zero_grad()
        critic_loss = F.softplus(-critic(real)).mean() + \
            F.softplus(critic(generator(noise).detach())).mean()
        critic_loss.backward()
        of_critic.step()

        critic.requires_grad_(False)
        of_generator.zero_grad()
        generator_loss = F.softplus(-critic(generator(noise))).mean()
        generator_loss.backward()
        of_generator.step()
        critic.requires_grad_(True)

        if step % 200 == 0 or step == options.steps - 1:
            radius = generator(noise).detach().norm(dim=1)
            means = hvd.allreduce(torch.stack([critic_loss.detach(), generator_loss.detach(),
                                               radius.mean()]), name="means")
            if hvd.rank() == 0:
                print(f"step {step}: critic {means[0]:.3f}, generator {means[1]:.3f}, "
                      f"mean radius {means[2]:.3f}", flush=True)


if __name__ == "__main__":
    main()
