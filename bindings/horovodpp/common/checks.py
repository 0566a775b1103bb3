# SPDX-License-Identifier: Apache-2.0
"""Checks that calls in several modules share."""
from horovodpp import _core


def check_initialized():
    """Raises ValueError if this process is in no job."""
    if not _core.is_initialized():
        raise ValueError("Horovod has not been initialized; use hvd.init().")
