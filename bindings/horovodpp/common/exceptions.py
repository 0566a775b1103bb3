# SPDX-License-Identifier: Apache-2.0
"""Exceptions, under the names and places of Horovod's."""
from horovodpp._core import HorovodInternalError, InvalidCallError

__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt", "InvalidCallError"]


class HostsUpdatedInterrupt(RuntimeError):
    """The hosts of the job have changed.

    `skip_sync`: hosts were only removed. elastic.run synchronizes the state all the same: ranks that
    meet a death at that moment have restored theirs.
    """

    def __init__(self, skip_sync=False):
        super().__init__()
        self.skip_sync = skip_sync
