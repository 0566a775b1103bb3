# SPDX-License-Identifier: Apache-2.0
"""The exceptions, under Horovod's names."""
from horovodpp._core import HorovodInternalError, InvalidCallError

__all__ = ["HorovodInternalError", "HorovodVersionMismatchError", "HostsUpdatedInterrupt",
           "InvalidCallError"]


class HostsUpdatedInterrupt(RuntimeError):
    """The hosts of the job have changed.

    `skip_sync`: hosts were only removed. elastic.run synchronizes the state in any case: ranks that
    lose a peer at that moment have restored their state.
    """

    def __init__(self, skip_sync=False):
        super().__init__()
        self.skip_sync = skip_sync


class HorovodVersionMismatchError(ImportError):
    """Never raised: the module is not compiled against a version of torch. For `except` clauses."""
