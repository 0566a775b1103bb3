# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import horovodpp.torch as hvd
from horovodpp import _core

pytestmark = pytest.mark.skipif(
    not hasattr(torch.Tensor, "register_post_accumulate_grad_hook"), reason="torch before 2.1")

WEIGHT = 64 * 256 * 4
BATCH = 1000


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 256, bias=False)
        self.register_buffer("table", torch.ones(100))

    def forward(self, x):
        return torch.relu(self.first(x))


def step(watch, model, optimizer):
    with watch.phase("forward"):
        loss = model(torch.ones(BATCH, 64)).sum()
    with watch.phase("backward"):
        loss.backward()
    with watch.phase("step"):
        optimizer.step()


def test_finds_the_categories_of_a_step():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with hvd.MemoryWatch(model, optimizer) as watch:
        step(watch, model, optimizer)
        step(watch, model, optimizer)
    report = watch.report()
    saved = BATCH * (64 + 256) * 4
    assert report.categories == {
        "parameters": WEIGHT, "buffers": 400, "gradients": WEIGHT, "optimizer state": WEIGHT,
        "saved for backward": saved}
    assert report.peak_bytes == 3 * WEIGHT + 400 + saved
    assert report.phase == "forward"  # The second, with momentum.
    assert report.holders[0] == (BATCH * 256 * 4, "saved for backward",
                                 f"float32[{BATCH},256] of model")
    assert report.holders[1][2] == f"float32[{BATCH},64] of first"
    names = {name for _, _, name in report.holders}
    assert {"first.weight", "gradient of first.weight", "table",
            "momentum_buffer of first.weight"} <= names
    assert "in forward" in str(report)


def test_counts_released_and_shared_storages_once():
    model = Model()
    with hvd.MemoryWatch(model) as watch:
        with torch.no_grad():
            model(torch.ones(BATCH, 64))
        assert watch.report().categories["saved for backward"] == 0
        x = torch.ones(BATCH, 64)
        for _ in range(3):  # Each time, the last result is released.
            result = model(x)
        del result
    assert watch.report().categories["saved for backward"] <= 2 * BATCH * 256 * 4 + BATCH * 64 * 4
    assert not watch._saved


def test_leaves_nothing_behind():
    model = Model()
    expected = torch.autograd.grad(model(torch.ones(2, 64)).sum(), model.first.weight)[0]
    with hvd.MemoryWatch(model):
        found = torch.autograd.grad(model(torch.ones(2, 64)).sum(), model.first.weight)[0]
    assert torch.equal(found, expected)
    assert not model._forward_hooks and not model._forward_pre_hooks


def test_tells_of_gradients_in_the_arena_on_each_rank(size):
    model = Model()
    model.first.weight.grad = hvd.arena_empty(model.first.weight.shape)
    storage = model.first.weight.grad.untyped_storage()
    with hvd.MemoryWatch(model) as watch:
        pass
    report = watch.report()
    in_arena = _core.is_in_arena(storage.data_ptr(), storage.nbytes())
    assert report.arena_bytes == (storage.nbytes() if in_arena else 0)
    table = hvd.memory_of_ranks(report).splitlines()
    assert len(table) == 2 + size
    assert table[1].startswith("rank  peak  parameters")
    assert table[-1].split()[:2] == [str(size - 1), f"{report.peak_bytes / 1e6:.2f}"]
