# SPDX-License-Identifier: Apache-2.0
import collections
import copy
import threading

import models
import pytest
import torch

import horovodpp.torch as hvd


def test_parameters_of_a_rank_become_everyones(rank, size):
    root = size - 1
    model = models.mlp()
    expected = {name: torch.full_like(p, root) for name, p in model.named_parameters()}
    for give in (lambda: model.state_dict(), lambda: list(model.named_parameters()),
                 lambda: list(model.parameters())):
        with torch.no_grad():
            for p in model.parameters():
                p.fill_(rank)
        hvd.broadcast_parameters(give(), root_rank=root)
        for name, p in model.named_parameters():
            assert torch.equal(p, expected[name])


def test_buffers_of_every_kind_are_broadcast(rank):
    state = {"flag": torch.tensor(rank == 0), "half": torch.full((3,), rank, dtype=torch.bfloat16),
             "count": torch.tensor(rank), "none": None, "text": "not a tensor",
             "crosswise": torch.full((2, 3), float(rank)).t(), "empty": torch.empty(0, 2)}
    hvd.broadcast_parameters(state, root_rank=0)
    assert state["flag"].item() is True and state["count"].item() == 0
    assert state["half"].tolist() == [0, 0, 0]
    assert state["crosswise"].tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("wrong", [models.mlp().named_parameters(), 3, None])
def test_parameters_are_a_dict_or_a_list(wrong):
    with pytest.raises(ValueError, match="invalid params of type: <class"):
        hvd.broadcast_parameters(wrong, 0)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "plain sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.5, 0.75), amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.1)),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "adadelta": lambda p: torch.optim.Adadelta(p),
    "adamax": lambda p: torch.optim.Adamax(p),
    "rmsprop": lambda p: torch.optim.RMSprop(p, centered=True, momentum=0.5),
    "rprop": lambda p: torch.optim.Rprop(p),
    "asgd": lambda p: torch.optim.ASGD(p),
    "nadam": lambda p: torch.optim.NAdam(p),
    "lbfgs": lambda p: torch.optim.LBFGS(p, max_iter=3),
    "radam": lambda p: torch.optim.RAdam(p),
}


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("distributed", [False, True])
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_state_and_options_of_a_rank_become_everyones(make, distributed, rank, size):
    model = models.mlp()
    root = size - 1
    optimizer = make(model.parameters())
    reference = make(copy.deepcopy(model).parameters())

    def step(of):
        parameters = [p for group in of.param_groups for p in group["params"]]
        for p in parameters:
            p.grad = torch.full_like(p, 0.5)
        of.step(*[lambda: 1.0] * isinstance(of, torch.optim.LBFGS))
        of.zero_grad()
        of.param_groups[0]["lr"] = of.param_groups[0]["lr"] * 0.5
        of.param_groups[0]["ours"] = "of the root"

    if rank == root:  # Other ranks have no state at all.
        step(optimizer)
    step(reference)
    if distributed:
        optimizer = models.named(model, optimizer)
    hvd.broadcast_optimizer_state(optimizer, root_rank=root, model=model)
    assert equal(optimizer.state_dict()["state"], reference.state_dict()["state"])
    assert equal(optimizer.state_dict()["param_groups"], reference.state_dict()["param_groups"])
    for p, state in optimizer.state.items():
        assert any(p is q for q in model.parameters())
        assert all(value.device == p.device for value in state.values()
                   if isinstance(value, torch.Tensor))


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize("obj", [
    None, 5, "text" * 1000, {"a": [1, 2.5, {"b": (1, 2)}]}, Pair(1, torch.ones(2).tolist())])
def test_objects_are_broadcast(obj, rank, size):
    mine = obj if rank == size - 1 else ("another", rank)
    assert hvd.broadcast_object(mine, root_rank=size - 1) == obj
    assert hvd.broadcast_object(mine, size - 1, name="named") == obj


def test_objects_of_different_types_are_broadcast(rank):
    assert hvd.broadcast_object([1, 2] if rank == 0 else None) == [1, 2]


def test_objects_are_gathered(rank, size):
    objects = hvd.allgather_object({"rank": rank, "text": "x" * rank})
    assert objects == [{"rank": r, "text": "x" * r} for r in range(size)]
    assert hvd.allgather_object(rank, name="named") == list(range(size))


def test_an_unpicklable_object_is_refused_before_sending(size):
    lock = threading.Lock()
    with pytest.raises(TypeError, match="pickle"):
        hvd.allgather_object(lock)
    hvd.barrier()
