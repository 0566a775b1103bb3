# SPDX-License-Identifier: Apache-2.0
"""Exceptions, under the names and places of Horovod's."""
from horovodpp._core import HorovodInternalError, InvalidCallError

__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt", "InvalidCallError"]


class HostsUpdatedInterrupt(RuntimeError):
    """The hosts of the job have changed.

    `skip_sync`: hosts were only removed, so that the ranks' states are equal still.
    """

    def __init__(self, skip_sync=False):
        super().__init__()
        self.skip_sync = skip_sync
