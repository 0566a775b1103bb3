# SPDX-License-Identifier: Apache-2.0
"""What torch builds on a process group trains as one process with the whole batch does."""
import contextlib
import copy
import inspect

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from models import assert_equal, batch_of, loss_of, mlp, sgd, whole_batch
from versions import needs_torch


def step(model, optimizer, batch, loss=loss_of):
    optimizer.zero_grad()
    loss(model, batch).backward()
    optimizer.step()


def train_as_one(wrapped, optimizer, alone, rank, steps=3, loss=loss_of):
    """Trains `wrapped` on this rank's batches, and `alone` on those of all."""
    alone_optimizer = sgd(alone)
    for _ in range(steps):
        step(wrapped, optimizer, batch_of(rank), loss)
        step(alone, alone_optimizer, whole_batch(), loss)


def full(parameter):
    return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter


def assert_same_parameters(model, alone):
    for (name, p), q in zip(model.named_parameters(), alone.parameters()):
        torch.testing.assert_close(full(p).detach(), q.detach(), rtol=1e-5, atol=1e-5,
                                   msg=lambda text, name=name: f"{name}: {text}")


# --- DDP ---

@pytest.mark.parametrize("options", [
    {}, {"gradient_as_bucket_view": True}, {"static_graph": True},
    {"bucket_cap_mb": 0.0001}, {"broadcast_buffers": False, "find_unused_parameters": True}],
    ids=str)
def test_ddp(options, rank):
    model, alone = mlp(), mlp()
    wrapped = DDP(model, **options)
    train_as_one(wrapped, sgd(model), alone, rank)
    assert_equal(model, alone)


class Branches(torch.nn.Module):
    """A model of which a step uses one branch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.branches = torch.nn.ModuleList(torch.nn.Linear(6, 2) for _ in range(3))
        self.used = 0

    def forward(self, batch):
        return self.branches[self.used](batch) + self.branches[2](batch)


def test_ddp_with_unused_parameters(rank):
    model, alone = Branches(), Branches()
    wrapped = DDP(model, find_unused_parameters=True)
    optimizer, alone_optimizer = sgd(model), sgd(alone)
    for number in range(4):
        model.used = alone.used = number % 2
        step(wrapped, optimizer, batch_of(rank))
        step(alone, alone_optimizer, whole_batch())
    assert_equal(model, alone)


def test_ddp_accumulates_without_sync(rank):
    model, alone = mlp(), mlp()
    wrapped = DDP(model)
    with wrapped.no_sync():
        loss_of(wrapped, batch_of(rank)).backward()
    loss_of(wrapped, batch_of(rank)).backward()
    (loss_of(alone, whole_batch()) * 2).backward()
    for p, q in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(p.grad, q.grad)


def test_ddp_with_uneven_inputs(rank, size):
    model = mlp()
    wrapped = DDP(model)
    optimizer = sgd(model)
    with wrapped.join():
        for _ in range(rank + 1):
            step(wrapped, optimizer, batch_of(rank))
    everyone = [None] * size
    dist.all_gather_object(everyone, model.state_dict())
    for other in everyone:
        torch.testing.assert_close(other, everyone[0])


def test_ddp_with_comm_hooks(rank):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    def by_hand(_, bucket):
        future = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()),
                                 async_op=True).get_future()
        return future.then(lambda done: done.value()[0])

    for hook in (by_hand, default_hooks.allreduce_hook):
        model, alone = mlp(), mlp()
        wrapped = DDP(model)
        wrapped.register_comm_hook(None, hook)
        train_as_one(wrapped, sgd(model), alone, rank)
        assert_equal(model, alone)
    model, alone = mlp(), mlp()
    wrapped = DDP(model)
    wrapped.register_comm_hook(None, default_hooks.fp16_compress_hook)
    train_as_one(wrapped, sgd(model), alone, rank)
    assert_equal(model, alone, 0.05)
    wrapped = DDP(mlp())
    wrapped.register_comm_hook(powerSGD_hook.PowerSGDState(
        None, start_powerSGD_iter=2, matrix_approximation_rank=1), powerSGD_hook.powerSGD_hook)
    optimizer = sgd(wrapped.module)
    for _ in range(4):
        step(wrapped, optimizer, batch_of(rank))


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}], ids=str)
def test_ddp_reduces_in_the_arena(options, rank):
    from horovodpp import _core
    from horovodpp.torch.backend import ddp, reduce_in_arena
    model, alone = mlp(), mlp()
    buckets = ddp._Buckets()
    wrapped = DDP(model, bucket_cap_mb=0.0001, **options)
    if options:
        reduce_in_arena(wrapped)
    else:
        wrapped.register_comm_hook(None, buckets.reduce)
    train_as_one(wrapped, sgd(model), alone, rank)
    assert_equal(model, alone)
    for memory in buckets._memory.values():
        assert _core.is_in_arena(memory.data_ptr(), memory.nbytes)


def test_ddp_with_sparse_gradients(rank, size):
    model = torch.nn.EmbeddingBag(10, 3, sparse=True)
    torch.nn.init.ones_(model.weight)
    wrapped = DDP(model)
    wrapped(torch.tensor([[rank, 9]])).sum().backward()
    gradient = model.weight.grad.to_dense()
    assert gradient[9, 0].item() == pytest.approx(0.5)
    assert gradient[rank, 0].item() == pytest.approx(0.5 / size)


def test_ddp_broadcasts_buffers(rank):
    model = DDP(torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6)))
    for _ in range(2):  # The second forward begins with the buffers of rank 0.
        model(batch_of(rank)).sum().backward()
    after = [buffer.clone() for buffer in model.buffers()]
    model(batch_of(rank)).sum().backward()
    seen = torch.stack([buffer.double().sum() for buffer in after])
    of_root = seen.clone()
    dist.broadcast(of_root, 0)
    assert rank or torch.equal(seen, of_root)


def test_compiled_ddp(rank):
    model, alone = mlp(), mlp()
    wrapped = torch.compile(DDP(model), backend="aot_eager")  # As inductor, without a compiler.
    train_as_one(wrapped, sgd(model), alone, rank)
    assert_equal(model, alone)


# --- Shards ---

def test_zero_redundancy_optimizer(rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model, alone = mlp(), mlp()
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
    train_as_one(DDP(model), optimizer, alone, rank)
    assert_equal(model, alone)
    optimizer.consolidate_state_dict(to=0)


def test_fsdp1(rank):
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    model, alone = mlp(), mlp()
    wrapped = FSDP(model, use_orig_params=True, device_id=torch.device("cpu"))
    train_as_one(wrapped, sgd(wrapped), alone, rank)
    with FSDP.summon_full_params(wrapped):
        assert_equal(wrapped, alone)


# FSDP2 of torch 2.4 creates streams of a GPU.
needs_fsdp2 = needs_torch("2.6", "FSDP2 on CPUs")


def sharded(model, **options):
    from torch.distributed._composable.fsdp import fully_shard
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    for module in model:
        if next(module.parameters(), None) is not None:
            fully_shard(module, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


@needs_fsdp2
def test_fsdp2(rank):
    model, alone = sharded(mlp()), mlp()
    train_as_one(model, sgd(model), alone, rank)
    assert_same_parameters(model, alone)


@needs_fsdp2
def test_fsdp2_in_mixed_precision(rank):
    from torch.distributed._composable.fsdp import MixedPrecisionPolicy
    model, alone = mlp(), mlp()
    model = sharded(model, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    optimizer, alone_optimizer = sgd(model), sgd(alone)
    for _ in range(3):
        step(model, optimizer, batch_of(rank).bfloat16())
        step(alone, alone_optimizer, whole_batch())
    for p, q in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(p.full_tensor(), q, rtol=0.1, atol=0.05)


@needs_fsdp2
def test_fsdp2_offloads_to_the_cpu(rank):
    from torch.distributed._composable.fsdp import CPUOffloadPolicy
    model, alone = sharded(mlp(), offload_policy=CPUOffloadPolicy(pin_memory=False)), mlp()
    train_as_one(model, sgd(model), alone, rank)
    assert_same_parameters(model, alone)


@needs_fsdp2
def test_fsdp2_clips_the_norm_of_all(rank):
    model, alone = sharded(mlp()), mlp()
    loss_of(model, batch_of(rank)).backward()
    loss_of(alone, whole_batch()).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    expected = torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.01)
    torch.testing.assert_close(full(norm), expected)


@needs_fsdp2
def test_an_optimizer_of_hvd_reduces_the_parameters_that_fsdp2_does_not_shard(rank, size):
    import horovodpp.torch as hvd

    class Partly(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = mlp(), torch.nn.Linear(2, 2)
            with torch.no_grad():
                self.head.weight.copy_(torch.eye(2) * 2)
                self.head.bias.zero_()

        def forward(self, batch):
            return self.head(self.body(batch))

    model, alone = Partly(), Partly()
    sharded(model.body)
    of_head = hvd.DistributedOptimizer(sgd(model.head), model.head.named_parameters(prefix="head"))
    of_body, of_all = sgd(model.body), sgd(alone)
    for _ in range(2):
        of_head.zero_grad()
        of_body.zero_grad()
        loss_of(model, batch_of(rank)).backward()
        of_head.step()
        of_body.step()
        step(alone, of_all, whole_batch())
    assert_same_parameters(model, alone)


def test_hvd_refuses_dtensors_and_tells_the_way_out(rank, size):
    import horovodpp.torch as hvd
    model = sharded(mlp())
    with pytest.raises(ValueError, match="DTensor: FSDP2 .*Give the DistributedOptimizer the oth"):
        hvd.DistributedOptimizer(sgd(model), model.named_parameters())
    weight = next(model.parameters())
    for call in (hvd.allreduce, hvd.allgather, lambda tensor: hvd.broadcast(tensor, 0)):
        with pytest.raises(ValueError, match=r"is a DTensor.* pass tensor.to_local\(\)"):
            call(weight)
    local = weight.to_local().detach()
    torch.testing.assert_close(hvd.allgather(local), weight.full_tensor().detach())


# --- DTensor ---

def names_of_dtensors(*names):
    """From the module of DTensors, which torch 2.4 has under a private name."""
    import torch.distributed.tensor as module
    if not hasattr(module, "Shard"):
        import torch.distributed._tensor as module
    return [getattr(module, name) for name in names]


def test_dtensors_change_their_placements(rank, size):
    Partial, Replicate, Shard, distribute_tensor = names_of_dtensors(
        "Partial", "Replicate", "Shard", "distribute_tensor")
    mesh = dist.init_device_mesh("cpu", (size,))
    whole = torch.arange(24.0).view(4, 6)
    for first in (Shard(0), Shard(1), Replicate()):
        tensor = distribute_tensor(whole, mesh, [first])
        for second in (Shard(0), Shard(1), Replicate()):
            torch.testing.assert_close(tensor.redistribute(mesh, [second]).full_tensor(), whole)
    product = distribute_tensor(whole, mesh, [Shard(1)]) @ distribute_tensor(
        whole.t().contiguous(), mesh, [Shard(0)])
    assert isinstance(product.placements[0], (Partial, Replicate))
    torch.testing.assert_close(product.full_tensor(), whole @ whole.t())


def test_tensor_parallel_modules(rank, size):
    from torch.distributed.tensor.parallel import (
        ColwiseParallel, RowwiseParallel, parallelize_module)
    mesh = dist.init_device_mesh("cpu", (size,))
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
    alone = copy.deepcopy(model)
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    batch = whole_batch()
    for one in (model, alone):
        loss_of(one, batch).backward()
    for p, q in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(p.grad.full_tensor(), q.grad, rtol=1e-5, atol=1e-5)


# --- Pipelines ---

@needs_torch("2.6", "pipeline stages that learn their shapes")
@pytest.mark.parametrize("schedule", ["ScheduleGPipe", "Schedule1F1B"])
def test_pipeline_schedules(schedule, rank, size):
    from torch.distributed import pipelining
    if size == 1:
        pytest.skip("needs two ranks")
    torch.manual_seed(3)
    layers = [torch.nn.Linear(6, 6) for _ in range(size)]
    alone = torch.nn.Sequential(*copy.deepcopy(layers))
    mine = layers[rank]
    batch, target = whole_batch(), whole_batch() + 1
    loss = torch.nn.functional.mse_loss
    stage = pipelining.PipelineStage(mine, rank, size, torch.device("cpu"))
    running = getattr(pipelining, schedule)(stage, n_microbatches=size, loss_fn=loss)
    if rank == 0:
        running.step(batch)
    elif rank == size - 1:
        running.step(target=target)
    else:
        running.step()
    loss(alone(batch), target).backward()
    torch.testing.assert_close(mine.weight.grad, alone[rank].weight.grad, rtol=1e-4, atol=1e-5)


# --- Checkpoints ---

@pytest.fixture
def folder(tmp_path, rank):
    """A folder of rank 0 for all ranks."""
    paths = [str(tmp_path)]
    dist.broadcast_object_list(paths, src=0)
    return paths[0]


@pytest.mark.parametrize("way", ["save", "async_save"])
def test_checkpoints_load_into_another_number_of_ranks(way, folder, rank, size):
    import torch.distributed.checkpoint as dcp
    Shard, distribute_tensor = names_of_dtensors("Shard", "distribute_tensor")
    whole = torch.arange(20.0).view(10, 2)
    mesh = dist.init_device_mesh("cpu", (size,))
    state = {"weight": distribute_tensor(whole, mesh, [Shard(0)]), "step": 7}
    if way == "save":
        dcp.save(state, checkpoint_id=folder)
    else:
        background = dist.new_group()  # Its operations run beside those of the training.
        dcp.async_save(state, checkpoint_id=folder, process_group=background).result()
    dist.barrier()
    alone = {"weight": torch.zeros(10, 2), "step": 0}
    # torch 2.4 has no such option, and loads with all ranks.
    alone_only = {"no_dist": True} if "no_dist" in inspect.signature(dcp.load).parameters else {}
    dcp.load(alone, checkpoint_id=folder, **alone_only)
    torch.testing.assert_close(alone["weight"], whole)
    again = {"weight": distribute_tensor(torch.zeros(10, 2), mesh, [Shard(1)]), "step": 0}
    dcp.load(again, checkpoint_id=folder)
    torch.testing.assert_close(again["weight"].full_tensor(), whole)
    assert again["step"] == 7
