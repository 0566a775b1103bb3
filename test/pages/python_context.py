# SPDX-License-Identifier: Apache-2.0
"""The names that snippets in Python take from the text around them."""

import torch

import horovodpp.torch as hvd


def torch_clipping():
    model = torch.nn.Linear(4, 2)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         model.named_parameters())
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.ones(3, 4)).sum()).backward()
    return {"torch": torch, "model": model, "optimizer": optimizer, "scaler": scaler}


def torch_uneven():
    model = torch.nn.Linear(4, 2)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         model.named_parameters())
    loader = [(torch.ones(3, 4), torch.tensor([0, 1, 0]))] * (1 + hvd.rank())
    return {"F": torch.nn.functional, "hvd": hvd, "model": model, "optimizer": optimizer,
            "loader": loader}


def metrics():
    return {"torch": torch, "hvd": hvd}


torch_memory_watch = metrics
