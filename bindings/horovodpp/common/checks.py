# SPDX-License-Identifier: Apache-2.0
"""What calls have to hold to, in whichever module they are."""
from horovodpp import _core


def check_initialized():
    """Raises ValueError where this process is in no job."""
    if not _core.is_initialized():
        raise ValueError("Horovod has not been initialized; use hvd.init().")
