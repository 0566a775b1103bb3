# SPDX-License-Identifier: Apache-2.0
"""Steps with collectives, recorded once as CUDA graphs and done again and again."""
from horovodpp import _core, gpu_arrays
from horovodpp.common import handles
from horovodpp.common.process_sets import global_process_set, member


class CapturedStep:
    """What `step()` puts into a stream of a GPU, collectives included.

        def step():
            forward_and_backward(x, gradient)                # Kernels in `stream`, as cupy's are.
            handle = horovodpp.allreduce_async_(gradient, name="gradient")
            horovodpp.wait_in_stream(handle, stream)
            horovodpp.synchronize(handle)                    # It is part of the graph, and is cleared.
            update(x, gradient)

        captured = horovodpp.CapturedStep(step, "step", stream)
        for _ in range(10):
            captured.replay()

    Every rank of the process set captures the same collectives, after a step that was not captured,
    since NCCL has to connect the ranks before; what goes another way cannot be captured. Replays are
    collectives by the name. The memory of the step, results that it was given included, stays where
    it is, and kept alive, as long as it is replayed. See docs/gpu.md.

    step: what is called, once. What it raises ends the capture, and is raised.
    name: of the replays: equal on all ranks, and of nothing else.
    stream: that is captured, and not the legacy default one: a number, torch's or cupy's.
    device: the stream's GPU.

    Raises ValueError for a stream or GPU that it cannot be, and InvalidCallError if what the step
    does cannot be captured; so does a replay in another job.
    """

    def __init__(self, step, name, stream, device="cuda:0", process_set=global_process_set):
        core = member("CapturedStep", process_set)
        gpu = gpu_arrays.index_of(device)
        if gpu == _core.CPU:
            raise ValueError("only what is done on a GPU is captured")
        self._captured = _core.capture(step, name, gpu, handles.stream_number(stream), core)

    def replay_async(self):
        """Does it once more; returns a handle, for wait_in_stream() and synchronize()."""
        return handles.add(self._captured.replay(), keep=self)

    def replay(self):
        """Does it once more, and waits for it."""
        handles.synchronize(self.replay_async())
