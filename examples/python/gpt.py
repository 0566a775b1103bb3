# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT on the bytes of a file, with its blocks under torch.utils.checkpoint:

    horovodrun -np 2 python examples/python/gpt.py README.md

Blocks are recomputed in backward, so only one block's activations are kept at a time. Embedding
and output share a weight; every gradient, including this one, is still reduced once per step.
"""
import argparse
import math
import pathlib

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import horovodpp.torch as hvd


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=8, help="of each rank")
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--reentrant", action="store_true", help="checkpoint's older variant")
    return parser.parse_args()


class Block(torch.nn.Module):
    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.projection = torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, length, width))
        result: torch.Tensor = x + self.mlp(self.norm2(x))
        return result


class GPT(torch.nn.Module):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.reentrant = options.reentrant
        self.tokens = torch.nn.Embedding(256, options.width)
        self.positions = torch.nn.Parameter(torch.zeros(options.context, options.width))
        self.blocks = torch.nn.ModuleList(Block(options.width) for _ in range(options.layers))
        self.norm = torch.nn.LayerNorm(options.width)
        torch.nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions[:tokens.shape[1]]
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return F.linear(self.norm(x), self.tokens.weight)


def main() -> None:
    options = arguments()
    hvd.init()
    torch.manual_seed(1)
    text = torch.frombuffer(bytearray(options.file.read_bytes()), dtype=torch.uint8).long()
    model = GPT(options)
    optimizer = hvd.DistributedOptimizer(torch.optim.AdamW(model.parameters(), lr=1e-3),
                                         model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)

    generator = torch.Generator().manual_seed(hvd.rank())  # Each rank reads other places.
    for step in range(options.steps):
        starts = torch.randint(len(text) - options.context, (options.batch_size,),
                               generator=generator)
        batch = torch.stack([text[start:start + options.context + 1] for start in starts])
        optimizer.zero_grad()
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == options.steps - 1:
            mean = hvd.allreduce(loss.detach(), name="loss").item()
            if hvd.rank() == 0:
                print(f"step {step}: loss {mean:.3f}, {mean / math.log(2):.2f} bits per byte",
                      flush=True)


if __name__ == "__main__":
    main()
