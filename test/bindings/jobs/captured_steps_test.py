# SPDX-License-Identifier: Apache-2.0
"""Steps captured as CUDA graphs, with fake CUDA and NCCL; ranks are threads."""
import os

import numpy
import pytest

import horovodpp
from gpu_memory import LIBRARY, Gpu, values_of

NCCL = os.environ.get("HVD_TEST_NCCL_LIBRARY")

pytestmark = pytest.mark.skipif(
    LIBRARY is None or NCCL is None,
    reason="HOROVODPP_CUDA_LIBRARY and HVD_TEST_NCCL_LIBRARY name no fakes")


@pytest.fixture(autouse=True)
def nccl(monkeypatch):
    monkeypatch.setenv("HOROVODPP_NCCL_LIBRARY", NCCL)


class SummingStep:
    """Sums `source` over the ranks into `out`."""

    def __init__(self):
        self.gpu = Gpu(horovodpp.rank())
        self.source, self.x, self.out = (
            self.gpu.put(numpy.zeros(1000, "float32")) for _ in range(3))

    def _copy(self, to, source):
        self.gpu.copy(to.address, source.address, 4000)

    def fill(self, n):
        values = numpy.full(1000, 10 * n + horovodpp.rank(), "float32")
        self.given = self.gpu.put(values)  # Kept until it is copied.
        self._copy(self.source, self.given)

    def __call__(self):
        self._copy(self.x, self.source)
        handle = horovodpp.allreduce_async_(self.x, name="x", op=horovodpp.Sum)
        horovodpp.wait_in_stream(handle, self.gpu.stream)
        assert horovodpp.synchronize(handle) is self.x
        self._copy(self.out, self.x)

    def is_done(self, n):
        ranks = horovodpp.size()
        return (values_of(self.out, self.gpu) == 10 * n * ranks + sum(range(ranks))).all()

    def captured(self, what=None):
        return horovodpp.CapturedStep(what or self, "step", self.gpu.stream,
                                      device=f"cuda:{self.gpu.index}")


def captured_and_replayed():
    step = SummingStep()
    step.fill(1)
    step()
    assert step.is_done(1)
    captured = step.captured()
    for n in range(2, 5):
        step.fill(n)
        captured.replay()
        assert step.is_done(n)
    step.fill(5)
    handle = captured.replay_async()
    horovodpp.wait_in_stream(handle, step.gpu.stream)
    assert step.is_done(5)
    horovodpp.synchronize(handle)
    return True


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_they_repeat_the_step(ranks):
    assert all(horovodpp.run_ranks(ranks, captured_and_replayed))


def raised_and_captured_again():
    step = SummingStep()
    step()

    def broken():
        step()
        raise LookupError("no such layer")

    with pytest.raises(LookupError, match="no such layer"):
        step.captured(broken)
    captured = step.captured()
    step.fill(7)
    captured.replay()
    return step.is_done(7)


def test_an_error_of_the_step_ends_the_capture():
    assert all(horovodpp.run_ranks(2, raised_and_captured_again))


def refused_and_going_on():
    step = SummingStep()
    step()
    with pytest.raises(horovodpp.InvalidCallError, match="cannot be captured into a graph"):
        step.captured()
    step.fill(2)
    step()
    return step.is_done(2)


def test_they_are_refused_without_nccl(monkeypatch):
    monkeypatch.setenv("HOROVOD_GPU_OPERATIONS", "MPI")
    assert all(horovodpp.run_ranks(2, refused_and_going_on))


def captured_and_left():
    step = SummingStep()
    step()
    return step.captured()


def test_they_end_with_their_job():
    captured, = horovodpp.run_ranks(1, captured_and_left)
    for begin in (captured.replay, captured.replay_async):
        with pytest.raises(horovodpp.InvalidCallError, match="left the job of this object"):
            begin()


def test_invalid_arguments_are_refused():
    def asked():
        with pytest.raises(ValueError, match="only a step on a GPU"):
            horovodpp.CapturedStep(lambda: None, "step", 1, device="cpu")
        with pytest.raises(ValueError, match="device is 'tpu'"):
            horovodpp.CapturedStep(lambda: None, "step", 1, device="tpu")
        with pytest.raises(ValueError, match="legacy default stream"):
            horovodpp.CapturedStep(lambda: None, "step", 0)

    horovodpp.run_ranks(1, asked)
