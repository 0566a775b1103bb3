# SPDX-License-Identifier: Apache-2.0
"""The backend "horovodpp" of torch.distributed.

    import horovodpp.torch.backend
    torch.distributed.init_process_group("horovodpp")
    ...                                     # DDP, FSDP2, DTensor and so on, unchanged.

Start the ranks by torchrun or by horovodrun. docs/torch_distributed.md tells what works.
"""
from horovodpp.torch.backend import (
    completions, ddp, errors, group, job, memory, messages, moves, records, reductions, work)
from horovodpp.torch.backend.ddp import reduce_in_arena
from horovodpp.torch.backend.group import ProcessGroup
from horovodpp.torch.backend.job import reform
from horovodpp.torch.backend.records import write_records
from horovodpp.torch.untraced import leave_untraced
from horovodpp_torch_backend import NAME, register

register()
leave_untraced(completions, ddp, errors, group, job, memory, messages, moves, records, reductions,
               work)

__all__ = ["NAME", "ProcessGroup", "reduce_in_arena", "reform", "write_records"]
