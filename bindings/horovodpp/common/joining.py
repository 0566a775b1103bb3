# SPDX-License-Identifier: Apache-2.0
"""join() and barrier()."""
from __future__ import annotations

from typing import Any

from horovodpp import _core
from horovodpp.common.explained import OF_A_CALL, explained
from horovodpp.common.handles import AT_ONCE
from horovodpp.common.process_sets import ProcessSet, global_process_set, member


@explained(returns="The rank that joined last.",
           example="last = horovodpp.join()")
def join(process_set: ProcessSet = global_process_set) -> int:
    """Announces that this rank has no more data. Waits for all ranks; returns the last to join.

    Until then this rank takes part in the others' reductions, with values that change nothing.
    """
    last: Any = _core.join(member("Join", process_set)).wait()
    return int(last)


@explained(example="hvd.barrier()",
           raises=OF_A_CALL)
def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Returns when every rank of the set has called it."""
    core = member("Barrier", process_set)
    with AT_ONCE:
        operation = _core.barrier(core)
    operation.wait()
