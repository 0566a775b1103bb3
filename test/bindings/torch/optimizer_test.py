# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer, compared with one process over the batches of all ranks."""
import copy
import functools
import warnings

import models
import pytest
import torch
from versions import needs_torch

import horovodpp.torch as hvd


# --- Construction ---

def test_is_of_the_wrapped_optimizers_class():
    model = models.mlp()
    inner = torch.optim.AdamW(model.parameters(), lr=0.25)
    optimizer = models.named(model, inner)
    assert isinstance(optimizer, torch.optim.AdamW)
    assert type(optimizer).__name__ == "AdamW"
    assert optimizer.__module__ == "horovodpp.torch.optimizer"
    assert optimizer.param_groups[0] is inner.param_groups[0]
    assert optimizer.defaults["lr"] == 0.25


def test_parameters_have_names():
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    assert set(optimizer._reduction.names.values()) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    groups = [{"params": [model[0].weight]}, {"params": [model[2].weight, model[2].bias]}]
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(groups, lr=1))
    assert [optimizer._reduction.names[p] for g in groups for p in g["params"]] == \
        ["allreduce.noname.0.0", "allreduce.noname.1.0", "allreduce.noname.1.1"]


@pytest.mark.parametrize("arguments, kind, text", [
    ({"named_parameters": [torch.ones(1)]}, ValueError,
     "named_parameters should be a sequence of tuples"),
    ({"named_parameters": ["ab"]}, ValueError, "named_parameters should be a sequence of tuples"),
    ({"gradient_predivide_factor": 2.0, "op": hvd.Sum}, ValueError,
     "gradient_predivide_factor not supported with op != Average"),
    ({"backward_passes_per_step": 0}, ValueError, "backward_passes_per_step must be > 0"),
    ({"bucket_bytes": -1}, ValueError, "bucket_bytes must be >= 0"),
    ({"op": hvd.Max}, ValueError, "Average, Sum or Adasum"),
    ({"op": hvd.Adasum, "find_unused_parameters": True}, ValueError,
     "find_unused_parameters not supported with op == Adasum"),
    ({"groups": -1}, ValueError, "groups should be a non-negative integer or a list of list"),
    ({"groups": "many"}, ValueError, "groups should be a non-negative integer or a list of list"),
    ({"groups": [torch.ones(1)]}, ValueError, "groups should be a non-negative integer or a list"),
    ({"groups": [[1]]}, ValueError, "groups must consist of torch.Tensor."),
    ({"process_set": hvd.ProcessSet([0])}, TypeError, "hvd.add_process_set"),
])
def test_refuses_invalid_arguments(arguments, kind, text):
    model = models.mlp()
    with pytest.raises(kind, match=text):
        hvd.DistributedOptimizer(models.sgd(model), **arguments)


def test_refuses_what_it_cannot_wrap():
    model = models.mlp()
    with pytest.raises(TypeError, match="wraps an optimizer of torch, not a Sequential"):
        hvd.DistributedOptimizer(model)
    optimizer = models.named(model, models.sgd(model))
    with pytest.raises(ValueError, match="is a DistributedOptimizer already"):
        models.named(model, optimizer)


def test_refuses_names_that_do_not_fit():
    model = models.mlp()
    pairs = list(model.named_parameters())
    with pytest.raises(ValueError, match="must be unique. Found duplicates: 0.bias, 0.weight"):
        hvd.DistributedOptimizer(models.sgd(model), pairs + pairs[:2])
    with pytest.raises(ValueError, match="one or more model parameters were not named. Python "
                                         f"object ids: {id(pairs[0][1])}"):
        hvd.DistributedOptimizer(models.sgd(model), pairs[1:])
    weight = pairs[0][1]
    with pytest.raises(ValueError, match="A parameter can only appear once in groups."):
        hvd.DistributedOptimizer(models.sgd(model), pairs, groups=[[weight], [weight]])


def test_num_groups_is_an_old_name():
    model = models.mlp()
    with pytest.warns(DeprecationWarning, match="num_groups"):
        optimizer = models.named(model, models.sgd(model), num_groups=2)
    assert len(optimizer._reduction.groups) == 2


def test_takes_over_the_state():
    model = models.mlp()
    inner = models.sgd(model)
    models.loss_of(model, models.batch_of(0)).backward()
    inner.step()
    optimizer = models.named(model, inner)
    for p in model.parameters():
        assert optimizer.state[p]["momentum_buffer"] is inner.state[p]["momentum_buffer"]


def test_a_scheduler_made_before_still_works(rank):
    model = models.mlp()
    inner = models.sgd(model, lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(inner, step_size=1, gamma=0.5)
    optimizer = models.named(model, inner)
    assert "step" not in vars(optimizer)
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.5


@needs_torch("2.0", "hooks of optimizers")
def test_step_hooks_run_once_per_step(rank):
    model = models.mlp()
    inner = models.sgd(model)
    calls = []
    inner.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer = models.named(model, inner)
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.step()
    assert calls == ["before", "after"]


# --- The step ---

OPTIMIZERS = {
    "sgd": models.sgd,
    "adam": lambda model: torch.optim.Adam(model.parameters(), lr=0.01),
    "adamw.foreach": lambda model: torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True),
    "adamw.fused": pytest.param(
        lambda model: torch.optim.AdamW(model.parameters(), lr=0.01, fused=True),
        marks=needs_torch("2.4", "fused optimizers for the CPU")),
    "adagrad": lambda model: torch.optim.Adagrad(model.parameters(), lr=0.01),
}
VARIANTS = {
    "plain": {},
    "predivide": {"gradient_predivide_factor": 2.0},
    "two groups": {"groups": 2},
    "groups and predivide": {"groups": 3, "gradient_predivide_factor": 0.5},
    "more groups than parameters": {"groups": 100},
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_steps_as_one_process_with_the_whole_batch(make):
    models.compare(models.mlp(), models.named, make=make)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_reduces_in_every_way(options):
    models.compare(models.mlp(), functools.partial(models.named, **options))


def test_groups_may_be_lists():
    model = models.mlp()
    groups = [[model[0].weight, model[2].bias], [model[0].bias]]
    models.compare(model, functools.partial(models.named, groups=groups))


def test_without_names():
    models.compare(models.mlp(), lambda _, inner: hvd.DistributedOptimizer(inner))


@pytest.mark.parametrize("compression", [hvd.Compression.fp16, hvd.Compression.bf16])
@pytest.mark.parametrize("groups", [None, 2])
def test_compresses(compression, groups):
    models.compare(models.mlp(), functools.partial(
        models.named, compression=compression, groups=groups), tolerance=2e-2)


def test_sums(size):
    models.compare(models.mlp(), functools.partial(models.named, op=hvd.Sum),
                   lambda model, batch: models.loss_of(model, batch) * (
                       1 if batch.shape[0] == models.ROWS else size))


@pytest.mark.parametrize("bucket_bytes", [0, 100, 1 << 20])
def test_gradients_wait_for_others_to_go_with_them(rank, size, bucket_bytes):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    model = models.mlp()  # 192 + 32 + 64 + 8 bytes.
    optimizer = models.compare(
        model, functools.partial(models.named, bucket_bytes=bucket_bytes), steps=2)
    optimizer.zero_grad()
    models.loss_of(model, models.batch_of(rank)).backward()
    handles = optimizer._handles.values()
    assert len(handles) == 4
    sent = sum(handle.finish is not None for handle in handles)
    assert sent == {0: 4, 1 << 20: 0}.get(bucket_bytes, sent) and (bucket_bytes != 100 or sent > 2)
    with pytest.raises(AssertionError, match="more than backward_passes_per_step"):
        models.loss_of(model, models.batch_of(rank)).backward()
    with pytest.raises(AssertionError, match=r"optimizer.zero_grad\(\) was called after "):
        optimizer.zero_grad()
    optimizer.load_state_dict(optimizer.state_dict())  # Ends begun reductions on all ranks.
    optimizer.zero_grad()
    assert optimizer._handles == {}


@pytest.mark.parametrize("freezes", [False, True])
def test_gradients_that_all_wait_are_sent_as_one(freezes, rank, size, monkeypatch):
    model = Branches()
    optimizer = models.named(model, models.sgd(model), bucket_bytes=1 << 20)
    sent = []
    start = optimizer._sender.start
    monkeypatch.setattr(optimizer._sender, "start",
                        lambda names, tensors: sent.append(len(tensors)) or start(names, tensors))
    models.loss_of(functools.partial(model, which=0 if freezes else rank % 2),
                   models.batch_of(rank)).backward()
    own = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]
    if freezes:  # It is sent anyway.
        model.branches[0].bias.requires_grad_(False)
    optimizer.step()
    if size > 1 and not freezes:
        assert sent == [4]  # `unused` has a gradient on no rank.
    for p, mine in zip(model.parameters(), own):
        if p.grad is not None:
            torch.testing.assert_close(p.grad, hvd.allreduce(mine))


def test_warns_of_changed_held_gradients(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model), bucket_bytes=1 << 20)
    models.loss_of(model, models.batch_of(rank)).backward()
    model[0].bias.grad.zero_()
    with pytest.warns(UserWarning, match="'0.bias' was changed while it was reduced"):
        optimizer.step()


def test_no_sync_leaves_gradients_to_the_next_pass(rank, size):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model, bucket_bytes=0)
    for _ in range(2):
        optimizer.zero_grad()
        with optimizer.no_sync():
            for _ in range(2):
                models.loss_of(model, models.batch_of(rank)).backward()
        assert optimizer._handles == {}
        models.loss_of(model, models.batch_of(rank)).backward()
        if size > 1:
            assert len(optimizer._handles) == 4
            with optimizer.no_sync(), \
                    pytest.raises(AssertionError, match="more than backward_passes_per_step"):
                models.loss_of(model, models.batch_of(rank)).backward()
        optimizer.step()
        inner.zero_grad()
        (3 * models.loss_of(alone, models.whole_batch())).backward()
        inner.step()
    models.assert_equal(model, alone)


def test_a_step_reduces_accumulated_gradients(rank):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model)
    with optimizer.no_sync():
        models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.step()
    models.loss_of(alone, models.whole_batch()).backward()
    inner.step()
    models.assert_equal(model, alone)


def test_ranks_are_equal_afterwards(rank):
    model = models.mlp()
    optimizer = models.compare(model, models.named)
    assert optimizer._handles == {}
    for p in model.parameters():
        assert torch.equal(hvd.broadcast(p.detach(), 0), p.detach())


def test_a_process_set_steps_by_itself(rank, pair):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model, process_set=pair, groups=2)
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.step()
    batch = torch.cat([models.batch_of(0), models.batch_of(1)]) if pair.included() \
        else models.batch_of(rank)
    models.loss_of(alone, batch).backward()
    inner.step()
    models.assert_equal(model, alone)


# --- Several backward passes ---

def test_backward_passes_are_summed():
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model, backward_passes_per_step=2)
    for _ in range(2):
        models.step_both(model, optimizer, alone, inner, passes=2)
    models.assert_equal(model, alone)


def test_the_number_of_passes_may_change():
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model)
    for passes in (1, 3, 2):
        optimizer.set_backward_passes_per_step(passes)
        models.step_both(model, optimizer, alone, inner, passes=passes)
    models.assert_equal(model, alone)


def test_fewer_passes_than_said_are_reduced_by_the_step(rank):
    models.compare(models.mlp(), functools.partial(models.named, backward_passes_per_step=5))


def test_more_passes_than_said_are_refused(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    models.loss_of(model, models.batch_of(rank)).backward()
    with pytest.raises(AssertionError, match="Gradients were computed more than "
                                             "backward_passes_per_step times before call to step"):
        models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.synchronize()


# --- synchronize(), skip_synchronize(), zero_grad() ---

def test_gradients_can_be_clipped_between_synchronize_and_step(rank):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model)
    for _ in range(3):
        optimizer.zero_grad()
        models.loss_of(model, models.batch_of(rank)).backward()
        optimizer.synchronize()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        with optimizer.skip_synchronize():
            optimizer.step()
        inner.zero_grad()
        models.loss_of(alone, models.whole_batch()).backward()
        expected = torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.01)
        inner.step()
        torch.testing.assert_close(norm, expected)
    models.assert_equal(model, alone)


def test_step_after_synchronize_warns(rank):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.synchronize()
    with pytest.warns(UserWarning, match=r"optimizer.step\(\) called without "
                                         r"optimizer.skip_synchronize\(\) context"):
        optimizer.step()


def test_warns_of_gradients_changed_in_flight(rank, size):
    if size == 1:
        pytest.skip("alone, nothing is sent")
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    for change in (lambda p: p.grad.mul_(2), lambda p: setattr(p, "grad", None)):
        optimizer._reduction._has_warned_of_changes = False
        models.loss_of(model, models.batch_of(rank)).backward()
        change(model[0].weight)
        with pytest.warns(UserWarning, match="'0.weight' was changed while it was reduced"):
            optimizer.step()
        optimizer.zero_grad()


def test_zero_grad_waits_for_the_step(rank, size):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    models.loss_of(model, models.batch_of(rank)).backward()
    if size > 1:
        with pytest.raises(AssertionError, match=r"optimizer.zero_grad\(\) was called after "
                                                 r"loss.backward\(\) but before"):
            optimizer.zero_grad()
    optimizer.synchronize()
    optimizer.zero_grad(set_to_none=True)
    assert all(p.grad is None for p in model.parameters())
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    assert all(p.grad.abs().sum() == 0 for p in model.parameters())


def test_state_dicts_are_saved_and_loaded(rank):
    model = models.mlp()
    optimizer = models.compare(model, models.named)
    saved = copy.deepcopy(optimizer.state_dict())
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.load_state_dict(saved)
    assert optimizer._handles == {}
    loaded = optimizer.state_dict()
    for index, entry in saved["state"].items():
        assert torch.equal(entry["momentum_buffer"], loaded["state"][index]["momentum_buffer"])
    optimizer.zero_grad()
    models.loss_of(model, models.batch_of(rank)).backward()
    optimizer.step()


# --- Closures ---

def closure_of(model, optimizer, batch):
    def closure():
        optimizer.zero_grad()
        loss = models.loss_of(model, batch)
        loss.backward()
        return loss

    return closure


def test_a_closures_gradients_and_loss_are_reduced(rank):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model)
    for _ in range(3):
        loss = optimizer.step(closure_of(model, optimizer, models.batch_of(rank)))
        expected = inner.step(closure_of(alone, inner, models.whole_batch()))
        torch.testing.assert_close(loss, expected.detach())
    models.assert_equal(model, alone)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search, rank):
    model = models.mlp().double()
    alone = copy.deepcopy(model)

    def lbfgs(of):
        return torch.optim.LBFGS(of.parameters(), lr=0.5, max_iter=5, line_search_fn=search)

    optimizer = models.named(model, lbfgs(model))
    inner = lbfgs(alone)
    for _ in range(2):
        optimizer.step(closure_of(model, optimizer, models.batch_of(rank).double()))
        inner.step(closure_of(alone, inner, models.whole_batch().double()))
    models.assert_equal(model, alone, 1e-6)
    hvd.broadcast_optimizer_state(optimizer, 0)
    optimizer.step(closure_of(model, optimizer, models.batch_of(rank).double()))
    inner.step(closure_of(alone, inner, models.whole_batch().double()))
    models.assert_equal(model, alone, 1e-6)


# --- Private attributes of Horovod's optimizer that programs read ---

@pytest.mark.parametrize("op", [hvd.Average, hvd.Adasum], ids=["average", "adasum"])
def test_parameter_names_are_known(op):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model), op=op)
    assert optimizer._parameter_names == {p: name for name, p in model.named_parameters()}
    numbered = hvd.DistributedOptimizer(models.sgd(model), op=op)
    assert set(numbered._parameter_names) == set(model.parameters())
    assert len(set(numbered._parameter_names.values())) == len(numbered._parameter_names)


def test_private_attributes_are_those_of_horovod(rank, size):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model), compression=hvd.Compression.fp16)
    everything = set(model.parameters()) if size > 1 else set()
    assert optimizer._compression is hvd.Compression.fp16
    assert optimizer._should_synchronize and not optimizer._synchronized
    assert optimizer._requires_update == everything
    model(models.batch_of(rank)).sum().backward()
    assert set(optimizer._handles) == everything
    optimizer.synchronize()
    assert optimizer._synchronized and not optimizer._handles
    with optimizer.skip_synchronize():
        assert not optimizer._should_synchronize
        optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer._requires_update = set(everything)
    if size > 1:
        with pytest.warns(UserWarning, match="on all ranks to leave"):
            optimizer._requires_update = set()


# --- Parameters without a gradient ---

class Branches(torch.nn.Module):
    """A rank uses only one of the branches."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.branches = torch.nn.ModuleList(torch.nn.Linear(6, 2) for _ in range(2))
        self.unused = torch.nn.Linear(3, 3)

    def forward(self, x, which):
        return self.branches[which](x)


@pytest.mark.parametrize("groups", [None, 1, 2])
def test_a_missing_gradient_is_zero(groups, rank, size):
    model = Branches()
    optimizer, alone, inner = models.named_and_alone(model, groups=groups)
    for step in range(3):
        optimizer.zero_grad()
        inner.zero_grad()
        model(models.batch_of(rank), (rank + step) % 2).square().mean().backward()
        optimizer.step()
        for r in range(size):
            (alone(models.batch_of(r), (r + step) % 2).square().mean() / size).backward()
        inner.step()
    models.assert_equal(model, alone)


@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}])
@pytest.mark.parametrize("groups", [None, 1])
@pytest.mark.parametrize("bucket_bytes", [0, 1 << 20])
def test_parameters_that_no_rank_used_stay_as_in_one_process(groups, bucket_bytes, options, rank,
                                                             size):
    model = torch.nn.ModuleList([torch.nn.Linear(6, 2), torch.nn.Linear(6, 2)])
    alone = copy.deepcopy(model)
    optimizer = models.named(model, models.sgd(model, weight_decay=0.1), groups=groups,
                             bucket_bytes=bucket_bytes, **options)
    alone_optimizer = models.sgd(alone, weight_decay=0.1)

    def loss_of(modules, of_rank, users):
        batch = models.batch_of(of_rank)
        loss = modules[0](batch).square().mean()
        return loss + modules[1](batch).square().mean() if of_rank in users else loss

    # The second module is used by all ranks, by none, by rank 0 alone, and by none again.
    for users in (range(size), (), (0,), ()):
        optimizer.zero_grad(set_to_none=True)
        loss_of(model, rank, users).backward()
        optimizer.step()
        alone_optimizer.zero_grad(set_to_none=True)
        (sum(loss_of(alone, r, users) for r in range(size)) / size).backward()
        alone_optimizer.step()
        assert (model[1].weight.grad is None) == (not users)
        models.assert_equal(model, alone)


def test_parameters_that_no_rank_used_get_zeros_in_horovods_way(size):
    if size == 1:
        pytest.skip("one rank alone reduces nothing")
    model = torch.nn.ModuleList([torch.nn.Linear(6, 2), torch.nn.Linear(6, 2)])
    optimizer = models.named(model, models.sgd(model), find_unused_parameters=False)
    model[0](torch.ones(1, 6)).sum().backward()
    optimizer.step()
    assert torch.equal(model[1].weight.grad, torch.zeros(2, 6))


def test_parameters_may_be_frozen_and_unfrozen():
    model = models.mlp()
    alone = copy.deepcopy(model)
    for of in (model, alone):
        of[0].requires_grad_(False)
    optimizer = models.named(model, models.sgd(model))
    inner = models.sgd(alone)
    for step in range(6):
        for of in (model, alone):
            of[0].requires_grad_(step in (2, 3, 5))
        models.step_both(model, optimizer, alone, inner)
    models.assert_equal(model, alone)


def test_parameters_may_be_added():
    model = models.mlp()
    alone = copy.deepcopy(model)

    def first(of):
        return torch.optim.SGD(of[0].parameters(), lr=0.1)

    optimizer = hvd.DistributedOptimizer(first(model), model[0].named_parameters())
    inner = first(alone)
    for step in range(4):
        if step == 1:
            optimizer.add_param_group({"params": list(model[2].parameters())})
            inner.add_param_group({"params": list(alone[2].parameters())})
        models.step_both(model, optimizer, alone, inner)
        for of in (model, alone):
            if step == 0:
                of[2].zero_grad()
    models.assert_equal(model, alone)


@pytest.mark.parametrize("op", [hvd.Average, hvd.Adasum])
def test_a_step_outside_a_job_is_refused(op, size):
    if op == hvd.Adasum and size == 1:
        pytest.skip("one rank alone needs no Adasum")
    weight = torch.ones(3, requires_grad=True)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([weight], lr=1), op=op)
    weight.sum().backward()
    hvd.shutdown()
    before = weight.detach().clone()
    with pytest.raises(ValueError, match=r"outside a job, after hvd.shutdown\(\): .* hvd.init"):
        optimizer.step()
    assert torch.equal(weight, before)
    hvd.init()


def test_a_new_optimizer_takes_the_place_of_the_old():
    model = models.mlp()
    alone = copy.deepcopy(model)
    models.named(model, models.sgd(model))
    optimizer = models.named(model, models.sgd(model))
    models.step_both(model, optimizer, alone, models.sgd(alone))
    models.assert_equal(model, alone)


def test_a_tensor_learning_rate_survives():
    models.compare(models.mlp(), models.named, make=lambda model: torch.optim.Adam(
        model.parameters(), lr=torch.tensor(0.01)))


# --- Sparse gradients ---

class Embedded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.table = torch.nn.Embedding(10, 3, sparse=True)
        self.linear = torch.nn.Linear(3, 2)
        self.other = torch.nn.Embedding(4, 3, sparse=True)

    def forward(self, indices, uses_other=False):
        values = self.table(indices)
        if uses_other:
            values = values + self.other(indices % 4)
        return self.linear(values)


@pytest.mark.parametrize("as_dense", [False, True])
@pytest.mark.parametrize("groups", [None, 1])
def test_sparse_gradients_stay_sparse(as_dense, groups, rank, size):
    model = Embedded()
    alone = copy.deepcopy(model)

    def plain(of):
        return torch.optim.SGD(of.parameters(), lr=0.1)

    optimizer = models.named(model, plain(model), sparse_as_dense=as_dense, groups=groups)
    inner = plain(alone)
    for step in range(3):
        optimizer.zero_grad()
        inner.zero_grad()
        # Only rank 0 uses another table, and only after the first step.
        uses = step > 0
        model(torch.tensor([rank, 5, 5]), uses and rank == 0).square().mean().backward()
        optimizer.step()
        for r in range(size):
            (alone(torch.tensor([r, 5, 5]), uses and r == 0).square().mean() / size).backward()
        inner.step()
        assert model.table.weight.grad.is_sparse
    models.assert_equal(model, alone)


def test_sparse_adam(rank, size):
    table = torch.nn.Embedding(10, 3, sparse=True)
    torch.nn.init.constant_(table.weight, 1.0)
    optimizer = models.named(table, torch.optim.SparseAdam(table.parameters(), lr=0.1))
    table(torch.tensor([rank])).sum().backward()
    optimizer.step()
    changed = (table.weight.detach() != 1).any(1)
    assert changed.tolist() == [row < size for row in range(10)]


# --- Two optimizers ---

def test_a_generator_and_a_discriminator_have_the_same_names(rank):
    def make():
        torch.manual_seed(9)
        return torch.nn.Linear(6, 6), torch.nn.Linear(6, 1)

    generator, critic = make()
    alone_generator, alone_critic = make()
    of_generator = models.named(generator, models.sgd(generator))
    of_critic = models.named(critic, models.sgd(critic))
    inner_generator, inner_critic = models.sgd(alone_generator), models.sgd(alone_critic)

    def train(generator, critic, of_generator, of_critic, batch):
        of_critic.zero_grad()
        (critic(generator(batch).detach()).mean() - critic(batch).mean()).backward()
        of_critic.step()
        of_generator.zero_grad()
        # The critic gets gradients here too, in flight together with the generator's.
        (-critic(generator(batch)).mean()).backward()
        of_generator.step()
        if hasattr(of_critic, "synchronize"):
            of_critic.synchronize()

    for _ in range(3):
        train(generator, critic, of_generator, of_critic, models.batch_of(rank))
        train(alone_generator, alone_critic, inner_generator, inner_critic, models.whole_batch())
    models.assert_equal(generator, alone_generator)
    models.assert_equal(critic, alone_critic)


# --- AMP ---

@needs_torch("2.3", "GradScaler for the CPU")
def test_a_scaler_sees_reduced_gradients(rank, size):
    model = models.mlp()
    optimizer = models.named(model, models.sgd(model))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    before = model[0].weight.detach().clone()
    for step in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = models.loss_of(model, models.batch_of(rank))
        if step == 1 and rank == 0:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        optimizer.synchronize()
        scaler.unscale_(optimizer)
        with optimizer.skip_synchronize():
            scaler.step(optimizer)
        scaler.update()
        if step == 0:
            after = model[0].weight.detach().clone()
            assert not torch.equal(before, after)
        if step == 1:
            assert torch.equal(model[0].weight, after)  # Skipped on every rank.
    assert scaler.get_scale() == 512.0
    assert torch.equal(hvd.broadcast(model[0].weight.detach(), 0), model[0].weight.detach())


# --- Adasum ---

def test_adasum_reduces_steps(rank, size):
    model = models.mlp()
    optimizer, alone, inner = models.named_and_alone(model, op=hvd.Adasum)
    for _ in range(3):  # Adasum of equal steps is that step.
        optimizer.zero_grad()
        models.loss_of(model, models.batch_of(0)).backward()
        if size > 1:
            optimizer.synchronize()
        assert optimizer.step() is None
        inner.zero_grad()
        models.loss_of(alone, models.batch_of(0)).backward()
        inner.step()
    models.assert_equal(model, alone)


def test_adasum_has_rules_of_its_own(rank, size):
    if size == 1:
        pytest.skip("alone, it is an optimizer like others")
    model = Branches()
    optimizer = models.named(model, models.sgd(model), op=hvd.Adasum,
                             compression=hvd.Compression.fp16, backward_passes_per_step=2)
    with pytest.raises(AssertionError, match="Skipping synchronization is not supported when "
                                             "using Adasum optimizer."):
        with optimizer.skip_synchronize():
            pass
    for _ in range(2):
        model(models.batch_of(rank), rank % 2).square().mean().backward()
    with pytest.raises(AssertionError, match=r"optimizer.zero_grad\(\) was called after"):
        optimizer.zero_grad()
    with pytest.raises(AssertionError, match="Gradients were computed more than"):
        model(models.batch_of(rank), rank % 2).square().mean().backward()
    loss = optimizer.step(lambda: 3.0)
    assert loss == 3.0
    optimizer.zero_grad()
    for p in model.parameters():
        assert torch.equal(hvd.broadcast(p.detach(), 0), p.detach())


def test_adasum_takes_parameters_that_come_later(rank, size):
    model = models.mlp()
    weights = list(model.parameters())
    weights[0].requires_grad_(False)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(weights[:-1], lr=0.1), op=hvd.Adasum)
    for step in range(2):
        before = [p.detach().clone() for p in weights]
        optimizer.zero_grad()
        models.loss_of(model, models.batch_of(rank)).backward()
        optimizer.step()
        for i, p in enumerate(weights):
            stays = step == 0 and i in (0, len(weights) - 1)
            assert torch.equal(p, before[i]) == stays
            assert torch.equal(hvd.broadcast(p.detach(), 0), p.detach())
        weights[0].requires_grad_(True)
        if step == 0:
            optimizer.add_param_group({"params": [weights[-1]]})


def test_adasum_of_a_process_set(rank, pair):
    model = models.mlp()
    before = model[0].weight.detach().clone()
    optimizer = models.named(model, models.sgd(model), op=hvd.Adasum, process_set=pair)
    models.loss_of(model, models.batch_of(0)).backward()
    optimizer.step()
    if pair.included():
        assert not torch.equal(model[0].weight, before)
