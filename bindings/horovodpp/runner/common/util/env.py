# SPDX-License-Identifier: Apache-2.0
"""Environment variables of ranks, under the names of horovod.runner.common.util.env."""
import os
import re

IGNORE_REGEXES = {r"BASH_FUNC_.*", r"OLDPWD", r".*CUDA_VISIBLE_DEVICES", r"_HOROVOD_SECRET_KEY"}


def is_exportable(v):
    """Whether Horovod's launcher gives the variable named `v` to ranks."""
    return not any(re.fullmatch(pattern, v) for pattern in IGNORE_REGEXES)


def get_env_rank_and_size():
    """(rank, size) as the launcher has set them; (0, 1) without a launcher.

    Raises ValueError if a launcher's variable is no number.
    """
    for rank, size in (("HOROVOD_RANK", "HOROVOD_SIZE"),
                       ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                       ("PMI_RANK", "PMI_SIZE")):
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1
