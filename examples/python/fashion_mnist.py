# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on Fashion-MNIST:

    horovodrun -np 2 python examples/python/fashion_mnist.py
"""
import argparse
import gzip
import pathlib
import time
from typing import Any

import torch
import torch.nn.functional as F

import horovodpp.torch as hvd

try:
    from tqdm import tqdm  # type: ignore[import-untyped, unused-ignore]
except ImportError:
    def tqdm(batches: Any, **_: Any) -> Any:
        return batches


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--data", type=pathlib.Path, help="the folder of the .gz files",
                        default=pathlib.Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64, help="of each rank")
    parser.add_argument("--lr", type=float, default=0.05, help="of one rank")
    parser.add_argument("--limit", type=int, help="train on so many images only")
    parser.add_argument("--fp16", action="store_true", help="send gradients as float16")
    return parser.parse_args()


def load(folder: pathlib.Path, part: str) -> torch.utils.data.TensorDataset:
    def content(name: str, header: int) -> torch.Tensor:
        path = folder / f"{part}-{name}.gz"
        if not path.exists():
            raise SystemExit(f"there is no {path}: apt install dataset-fashion-mnist, "
                             "or name its folder by --data")
        data = bytearray(gzip.decompress(path.read_bytes())[header:])
        return torch.frombuffer(data, dtype=torch.uint8)

    images = content("images-idx3-ubyte", 16).view(-1, 1, 28, 28).float().div(255)
    return torch.utils.data.TensorDataset(images, content("labels-idx1-ubyte", 8).long())


def make_model() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(16 * 5 * 5, 64), torch.nn.ReLU(),
        torch.nn.Linear(64, 10))


def accuracy_of(model: torch.nn.Module, dataset: torch.utils.data.TensorDataset) -> float:
    """The accuracy over all ranks: each rank takes every size()-th image."""
    images, labels = (tensor[hvd.rank()::hvd.size()] for tensor in dataset.tensors)
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum()
                    for x, y in zip(images.split(1000), labels.split(1000)))
    counts = hvd.allreduce(torch.tensor([float(right), len(labels)]), op=hvd.Sum)
    return float(counts[0] / counts[1])


def main() -> None:
    options = arguments()
    hvd.init()
    torch.manual_seed(1)
    train, test = load(options.data, "train"), load(options.data, "t10k")
    if options.limit:
        train = torch.utils.data.TensorDataset(*train[:options.limit])
    sampler: torch.utils.data.DistributedSampler[Any] = torch.utils.data.DistributedSampler(
        train, num_replicas=hvd.size(), rank=hvd.rank())
    loader = torch.utils.data.DataLoader(train, options.batch_size, sampler=sampler)

    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr * hvd.size(), momentum=0.9)
    optimizer = hvd.DistributedOptimizer(
        optimizer, model.named_parameters(),
        compression=hvd.Compression.fp16 if options.fp16 else hvd.Compression.none)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        model.train()
        start = time.monotonic()
        total = 0.0
        for images, labels in tqdm(loader, desc=f"epoch {epoch}", disable=hvd.rank() != 0):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        mean = hvd.allreduce(torch.tensor(total / len(loader)), name="loss").item()
        accuracy = accuracy_of(model, test)
        if hvd.rank() == 0:
            rate = len(train) / (time.monotonic() - start)
            print(f"epoch {epoch}: loss {mean:.4f}, test accuracy {accuracy:.3f}, "
                  f"{rate:.0f} images/s on {hvd.size()} ranks", flush=True)


if __name__ == "__main__":
    main()
