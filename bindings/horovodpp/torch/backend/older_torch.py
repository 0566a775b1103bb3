# SPDX-License-Identifier: Apache-2.0
"""What torch before 2.13 leaves to a backend in Python."""
import importlib

import torch

# torch 2.4 forgets the Python object of a work for which DDP waits; 2.13 does not.
KEEPS_WORKS = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13)


def let_destroy_shut_down(kind):
    """Lets destroy_process_group() call shutdown() of groups of a class. Torch 2.4 calls that of
    NCCL's groups only."""
    module = importlib.import_module("torch.distributed.distributed_c10d")
    of_torch = getattr(module, "_shutdown_backend", None)
    if of_torch is None:
        return

    def shut_down(group):
        group.shutdown() if isinstance(group, kind) else of_torch(group)

    module._shutdown_backend = shut_down
