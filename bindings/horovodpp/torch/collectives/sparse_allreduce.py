# SPDX-License-Identifier: Apache-2.0
"""The allreduce of sparse tensors, which gathers their entries."""
from __future__ import annotations

from typing import Callable

import torch

from horovodpp.common.explained import OF_A_START, explained
from horovodpp.common.ops import Average
from horovodpp.common.handles import synchronize
from horovodpp.common.process_sets import ProcessSet, core_of, global_process_set
from horovodpp.torch.collectives.allgather import allgather_async
from horovodpp.torch.collectives.arguments import check_tensor


@explained(tensor="a sparse COO tensor; of one shape and dtype on all ranks.",
           name="the name by which ranks match calls, equal on all ranks.",
           op="hvd.Average or hvd.Sum.",
           returns="A function that waits, and returns a new sparse tensor.",
           raises=OF_A_START,
           example="""
               wait = hvd.sparse_allreduce_async(embedding.weight.grad, "weight", hvd.Average)
               embedding.weight.grad = wait()""")
def sparse_allreduce_async(
        tensor: torch.Tensor, name: str, op: int,
        process_set: ProcessSet = global_process_set) -> Callable[[], torch.Tensor]:
    """Gathers the entries of a sparse tensor; returns a function that waits for the result.

    The result is not coalesced. With Average, values are divided by the number of ranks; any other
    op adds.
    """
    core_of(process_set)
    check_tensor(tensor)
    entries = tensor if tensor.is_coalesced() else tensor.coalesce()
    indices = allgather_async(entries.indices().transpose(0, 1).contiguous(),
                              name=f"{name}.indices", process_set=process_set)
    values = allgather_async(entries.values().contiguous(), name=f"{name}.values",
                             process_set=process_set)

    def wait():
        all_values = synchronize(values)
        all_indices = synchronize(indices)
        if op == Average:
            all_values = all_values / process_set.size()
        return torch.sparse_coo_tensor(all_indices.transpose(0, 1), all_values, tensor.shape)

    return wait
