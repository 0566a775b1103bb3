# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch

import horovodpp
import horovodpp.torch as hvd


@pytest.fixture(autouse=True)
def in_a_new_job():
    hvd.shutdown()
    hvd.init()
    yield
    hvd.shutdown()
    hvd.init()


def series(metrics, name, **labels):
    found, = (one for one in metrics[name]
              if labels.items() <= one["labels"].items())
    return found


def test_metrics_count_from_the_first_call(rank, size):
    hvd.allreduce(torch.ones(2), name="early")
    first = hvd.metrics()
    assert series(first, "horovodpp_job_size") == {"labels": {"rank": str(rank)}, "value": size}
    assert "horovodpp_operations_total" not in first
    hvd.allreduce(torch.ones(1000), name="a")
    hvd.broadcast(torch.ones(2), 0, name="b")
    last = horovodpp.metrics()
    assert series(last, "horovodpp_operations_total", kind="broadcast")["value"] == 1
    reduced = series(last, "horovodpp_operation_bytes_total", kind="allreduce")
    assert reduced["value"] == 4000
    assert set(reduced["labels"]) == {"rank", "kind", "plane"}


def test_a_histogram_has_buckets():
    hvd.metrics()
    hvd.allreduce(torch.ones(1000), name="a")
    sizes = series(hvd.metrics(), "horovodpp_batch_bytes", kind="allreduce")
    assert sizes["count"] == 1 and sizes["sum"] == 4000
    counts = dict(sizes["buckets"])
    assert counts[1024] == 0 and counts[4096] == 1 and counts[math.inf] == 1


def test_metrics_need_a_job():
    hvd.shutdown()
    with pytest.raises(ValueError, match="has not been initialized"):
        hvd.metrics()
    hvd.init()
