# SPDX-License-Identifier: Apache-2.0
"""Checks that calls in several modules share."""
from horovodpp import _core


def check_initialized():
    """Raises ValueError if this process is in no job."""
    if not _core.is_initialized():
        raise ValueError("Horovod has not been initialized; use hvd.init().")


def check_job_of_step():
    """Raises ValueError if this process is in no job: a step would train this rank alone."""
    if not _core.is_initialized():
        raise ValueError("optimizer.step() outside a job, after hvd.shutdown(): this rank would "
                         "train alone. Call hvd.init() first; to train without the other ranks, "
                         "use an optimizer that DistributedOptimizer() has not wrapped.")
