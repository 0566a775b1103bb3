# SPDX-License-Identifier: Apache-2.0
"""Steps with collectives, recorded once as CUDA graphs and replayed many times."""
from __future__ import annotations

from typing import Any, Callable

from horovodpp import _core, gpu_arrays
from horovodpp.common import handles
from horovodpp.common.explained import explained
from horovodpp.common.process_sets import ProcessSet, global_process_set, member


@explained(raises={"ValueError": "the stream or the device is unsuitable.",
                   "InvalidCallError": "the step cannot be captured."})
class CapturedStep:
    """The work that `step()` puts into a CUDA stream, collectives included.

    Example:
        def step():
            forward_and_backward(x, gradient)                # Kernels in `stream`, as with cupy.
            handle = horovodpp.allreduce_async_(gradient, name="gradient")
            horovodpp.wait_in_stream(handle, stream)
            horovodpp.synchronize(handle)                    # Part of the graph; clears the handle.
            update(x, gradient)

        captured = horovodpp.CapturedStep(step, "step", stream)
        for _ in range(10):
            captured.replay()

    Every rank of the process set captures the same collectives. Run one step before you capture:
    NCCL has to connect the ranks first. Collectives that do not use NCCL cannot be captured.
    Replays are collectives, matched across ranks by `name`. As long as you replay the step, keep
    its memory, including its results, alive and in place. See docs/gpu.md.

    Args:
        step: the function to capture, called once. An exception in it ends the capture and is
            raised.
        name: the name of the replays: equal on all ranks, and used for nothing else.
        stream: the stream to capture: a number, or a stream of torch or cupy. Not the legacy
            default stream.
        device: the stream's GPU.

    Raises ValueError for an unsuitable stream or GPU, and InvalidCallError if the step cannot be
    captured. A replay in another job also raises InvalidCallError.
    """

    def __init__(self, step: Callable[[], object], name: str, stream: Any, device: Any = "cuda:0",
                 process_set: ProcessSet = global_process_set) -> None:
        core = member("CapturedStep", process_set)
        gpu = gpu_arrays.index_of(device)
        if gpu == _core.CPU:
            raise ValueError("only a step on a GPU can be captured")
        self._captured = _core.capture(step, name, gpu, handles.stream_number(stream), core)

    def replay_async(self) -> int:
        """Replays the step; returns a handle for wait_in_stream() and synchronize()."""
        return handles.add(self._captured.replay(), keep=self)

    def replay(self) -> None:
        """Replays the step and waits until it is done."""
        handles.synchronize(self.replay_async())
