# SPDX-License-Identifier: Apache-2.0
"""Distributes the indices of a dataset among ranks whose number may shrink within an epoch."""
from __future__ import annotations

import math
from typing import Any, Dict, Iterator
import random

import torch.utils.data

from horovodpp.common.explained import OUTSIDE_OF_A_JOB, explained
from horovodpp.torch.mpi_ops import rank, size


@explained(dataset="the dataset, or anything with a length.",
           shuffle="whether each epoch has an order of its own.",
           seed="of the orders; equal on all ranks.", raises=OUTSIDE_OF_A_JOB)
class ElasticSampler(torch.utils.data.Sampler):
    """This rank's part of the remaining indices of an epoch.

        sampler = hvd.elastic.ElasticSampler(dataset)
        loader = DataLoader(dataset, batch_size=32, sampler=sampler)
        for index, batch in enumerate(loader):
            ...
            sampler.record_batch(index, 32)

    Every rank gets the same number of indices. If they do not divide evenly, some occur twice.
    """

    def __init__(self, dataset: Any, shuffle: bool = True, seed: int = 0) -> None:
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.processed_num = 0
        self.reset()

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch, which has its own order."""
        self.epoch = epoch
        self.processed_num = 0
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Records that batch `batch_idx` was processed, on every rank."""
        del batch_idx
        self.processed_num += batch_size * self.num_replicas

    def state_dict(self) -> Dict[str, Any]:
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.epoch = state_dict["epoch"]
        self.processed_num = state_dict["processed_num"]
        self.reset()

    def reset(self) -> None:
        """Distributes the remaining indices among the present ranks."""
        self.num_replicas = size()
        self.rank = rank()
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(indices)
        self.processed_indices = indices[:self.processed_num]
        self.remaining_indices = indices[self.processed_num:]
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        indices = self.remaining_indices
        while 0 < len(indices) < self.total_size:
            indices = indices + indices[:self.total_size - len(indices)]
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples
