# SPDX-License-Identifier: Apache-2.0
"""Trains with virtual shards; the result does not show which ranks were lost:

    horovodrun -np 3 --min-np 1 --max-np 4 python examples/python/elastic.py --model resnet18

Kill a rank meanwhile: the others go on, a new process replaces it, and the checksum at the end is
that of any other run.
"""
import argparse
import hashlib
import time
from typing import Tuple

import torch
import torch.nn.functional as F

import horovodpp.torch as hvd

SAMPLES = 4096
CLASSES = 10


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split(";")[0])
    parser.add_argument("--model", choices=["mlp", "resnet18"], default="mlp")
    parser.add_argument("--width", type=int, default=16, help="channels of the first stage")
    parser.add_argument("--image", type=int, default=16, help="pixels of a side of an image")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--shards", type=int, default=8,
                        help="parts of a global batch; at least as many as ranks")
    parser.add_argument("--batch-size", type=int, default=4, help="of a shard")
    parser.add_argument("--snapshots", help="their folder; goes on from the newest")
    parser.add_argument("--every", type=int, default=50, help="steps between snapshots")
    parser.add_argument("--wait-for", type=int, default=1, metavar="RANKS",
                        help="before the second half of the steps")
    return parser.parse_args()


class Block(torch.nn.Module):
    """Two convolutions, and the input added to their result."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.path = torch.nn.Sequential(
            torch.nn.Conv2d(before, after, 3, stride, padding=1, bias=False),
            torch.nn.BatchNorm2d(after), torch.nn.ReLU(),
            torch.nn.Conv2d(after, after, 3, padding=1, bias=False),
            torch.nn.BatchNorm2d(after))
        self.shortcut = torch.nn.Identity() if before == after else torch.nn.Sequential(
            torch.nn.Conv2d(before, after, 1, stride, bias=False), torch.nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.path(x) + self.shortcut(x))


def resnet18(width: int) -> torch.nn.Module:
    """ResNet-18 for small images: a first stage that keeps their size."""
    layers = [torch.nn.Conv2d(3, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width),
              torch.nn.ReLU()]
    before = width
    for stage in range(4):
        after = width << stage
        layers += [Block(before, after, 1 if stage == 0 else 2), Block(after, after, 1)]
        before = after
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                               torch.nn.Linear(before, CLASSES))


def mlp(pixels: int, width: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(3 * pixels * pixels, 4 * width), torch.nn.ReLU(),
        torch.nn.Dropout(0.2), torch.nn.Linear(4 * width, CLASSES))


def made_up_images(pixels: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """An image of each class, with noise."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    of_classes = torch.randn(CLASSES, 3, pixels, pixels, generator=generator)
    return of_classes[labels] + torch.randn(SAMPLES, 3, pixels, pixels, generator=generator), labels


def checksum(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> str:
    """Of the bytes of all parameters, buffers and tensors of the optimizer's state."""
    digest = hashlib.blake2b(digest_size=8)
    tensors = [*model.state_dict().values()]
    for of_parameter in optimizer.state_dict()["state"].values():
        tensors += [value for value in of_parameter.values() if torch.is_tensor(value)]
    for tensor in tensors:
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def main() -> None:
    options = arguments()
    # The bits of torch's sums depend on the number of threads.
    torch.set_num_threads(1)
    hvd.init()
    torch.manual_seed(1)
    images, labels = made_up_images(options.image)
    model = (resnet18(options.width) if options.model == "resnet18"
             else mlp(options.image, options.width))
    sgd = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = hvd.elastic.ShardedStep(model, sgd, shards=options.shards, seed=1)
    batches = hvd.elastic.ShardedIndices(SAMPLES, options.batch_size, options.shards)
    state = hvd.elastic.TorchState(model, sgd, step=0)
    snapshots = hvd.elastic.Snapshots(options.snapshots) if options.snapshots else None
    if snapshots:
        snapshots.load(state)

    @hvd.elastic.run
    def train(state: hvd.elastic.TorchState) -> None:
        # Begins again whenever the ranks have changed.
        if hvd.rank() == 0:
            print(f"step {state.step}: {hvd.size()} ranks", flush=True)
        while state.step < options.steps:
            while state.step == options.steps // 2 and hvd.size() < options.wait_for:
                time.sleep(0.01)
                state.end_step()  # Lets newcomers join.
            for shard in step.shards(state.step):
                indices = batches(state.step, shard)
                # Augmented by the generator that belongs to the shard.
                x = images[indices] + 0.1 * torch.randn(len(indices), *images.shape[1:])
                loss = F.cross_entropy(model(x), labels[indices])
                loss.backward()
            step.apply()
            state.step += 1
            if hvd.rank() == 0 and state.step % 10 == 0:
                print(f"step {state.step}: loss {loss.item():.4f} of a shard", flush=True)
            state.end_step()
            if snapshots and state.step % options.every == 0:
                snapshots.save(state, state.step)

    train(state)
    if snapshots:
        snapshots.finish()
    print(f"rank {hvd.rank()} of {hvd.size()}: checksum {checksum(model, sgd)} "
          f"after {state.step} steps", flush=True)
    hvd.shutdown()


if __name__ == "__main__":
    main()
