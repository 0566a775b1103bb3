# SPDX-License-Identifier: Apache-2.0
"""join() and barrier()."""
from horovodpp import _core
from horovodpp.common.handles import AT_ONCE
from horovodpp.common.process_sets import global_process_set, member


def join(process_set=global_process_set):
    """Announces that this rank has no more data. Waits for all ranks; returns the last to join.

    Until then this rank takes part in the others' reductions, with values that change nothing.
    """
    return _core.join(member("Join", process_set)).wait()


def barrier(process_set=global_process_set):
    """Returns when every rank of the set has called it."""
    core = member("Barrier", process_set)
    with AT_ONCE:
        operation = _core.barrier(core)
    operation.wait()
