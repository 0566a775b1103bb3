# SPDX-License-Identifier: Apache-2.0
import json

import pytest
import torch

import horovodpp.torch as hvd
from horovodpp.data import AsyncDataLoaderMixin, BaseDataLoader


@pytest.fixture
def spans(tmp_path, rank, monkeypatch):
    """Returns "B data", … of this rank since the begin of the test."""
    hvd.shutdown()
    monkeypatch.setenv("HOROVOD_TIMELINE", "DYNAMIC")
    hvd.init()
    hvd.start_timeline(tmp_path / "{rank}.json")

    def read():
        hvd.stop_timeline()
        events = json.loads((tmp_path / f"{rank}.json").read_text())
        training = [e["pid"] for e in events
                    if e["name"] == "process_name" and e["args"]["name"] == "training"]
        return [f"{e['ph']} {e['name']}" for e in events
                if e["pid"] in training and e["ph"] in "BE"]

    yield read
    hvd.shutdown()
    monkeypatch.delenv("HOROVOD_TIMELINE")
    hvd.init()


def test_spans_nest_and_end_with_an_exception(spans):
    with pytest.raises(KeyError):
        with hvd.span("outer"), hvd.span("inner"):
            raise KeyError
    assert spans() == ["B outer", "B inner", "E inner", "E outer"]


def test_each_wait_for_an_item_is_a_span(spans):
    items = []
    for item in hvd.span("data").around([1, 2]):
        items.append(item)
        with hvd.span("forward"):
            pass
    assert items == [1, 2]
    wait, work = ["B data", "E data"], ["B forward", "E forward"]
    assert spans() == wait + wait + work + wait + work + wait


class _Numbers(BaseDataLoader):
    def __len__(self):
        return 2

    def _iterate(self):
        return iter(range(2))


class _AsyncNumbers(AsyncDataLoaderMixin, _Numbers):
    pass


@pytest.mark.parametrize("loader", [_Numbers, _AsyncNumbers])
def test_waits_of_a_loader_are_spans(spans, loader):
    assert list(loader()) == [0, 1]
    assert spans().count("B data") >= 3


def test_the_step_of_a_distributed_optimizer_is_a_span(spans):
    model = torch.nn.Linear(2, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         model.named_parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert spans() == ["B optimizer", "E optimizer"]


def test_a_span_outside_of_a_job_has_no_effect():
    hvd.shutdown()
    with hvd.span("data"):
        pass
    hvd.init()
