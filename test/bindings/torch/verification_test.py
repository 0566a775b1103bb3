# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

import horovodpp.torch as hvd


class Model(torch.nn.Module):
    """It has random numbers, and buffers that a forward changes."""

    def __init__(self, width=8):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.BatchNorm1d(width), torch.nn.Dropout(0.5),
            torch.nn.Linear(width, 2))
        self.unused = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.layers(x)


def model_of(seed, **how):
    torch.manual_seed(seed)
    return Model(**how)


@pytest.fixture
def batch(rank):
    return torch.arange(12.0).reshape(3, 4) + rank


def test_a_sound_training_has_no_problems(batch, size):
    report = hvd.verify(model_of(1), batch)
    assert report, report
    expected = ["'unused' has no gradient: the loss does not depend on it"]
    if size > 1:
        assert report.notes == expected
    assert "7 parameters" in report.summary and "a step reduces 6 gradients" in report.summary
    assert str(report).startswith("note: 'unused'")


def test_it_changes_nothing(batch):
    model = model_of(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         model.named_parameters())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    random = torch.get_rng_state()
    assert hvd.verify(model, batch)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), random)
    model(batch).mean().backward()
    optimizer.step()


def test_other_values_and_shapes_are_named(batch, rank, size):
    report = hvd.verify(model_of(1 + rank), batch)
    assert len(report.problems) == (size - 1), report
    assert all("broadcast the parameters before training" in text for text in report.problems)
    report = hvd.verify(model_of(1, width=8 + rank % 2), batch)
    found = [text for text in report.problems if "'layers.3.weight'" in text and
             "is float32[2, 9] on rank 1, and float32[2, 8] on rank 0" in text]
    assert len(found) == (1 if size > 1 else 0), report


def test_numbers_that_are_not_finite_are_named(batch, rank):
    report = hvd.verify(model_of(1), batch, loss=lambda model, batch: model(batch).mean() / rank)
    assert any(text.startswith("the loss of rank 0 is ") for text in report.problems), report
    assert not report


def test_a_loss_that_changes_is_noted(batch):
    calls = []

    def loss(model, batch):
        calls.append(1)
        return model(batch).mean() * len(calls)

    report = hvd.verify(model_of(1), batch, loss=loss)
    assert report
    assert any("the loss differs on rank 0 between two steps" in text for text in report.notes)


def test_models_may_have_several_arguments_and_their_own_loss(size):
    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))

        def forward(self, x, y):
            return type("Output", (), {"loss": ((self.w * x - y) ** 2).sum()})()

    x, y = torch.ones(2), torch.zeros(2)
    for given in (x, y), {"x": x, "y": y}:
        report = hvd.verify(WithLoss(), given)
        assert report
        assert len(report.notes) == (1 if size > 1 else 0)  # All have the same batch.


def test_a_failed_loss_changes_nothing(batch):
    model = model_of(1)
    mean = model.layers[1].running_mean.clone()

    def loss(model, batch):
        model(batch)
        raise LookupError("no batch")

    with pytest.raises(LookupError):
        hvd.verify(model, batch, loss=loss)
    assert torch.equal(model.layers[1].running_mean, mean)
    assert not any(p._backward_hooks for p in model.parameters())


def test_a_loss_of_several_elements_is_refused(batch):
    with pytest.raises(ValueError, match="one element"):
        hvd.verify(model_of(1), batch, loss=lambda model, batch: model(batch))
