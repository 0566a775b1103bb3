# SPDX-License-Identifier: Apache-2.0
"""The collectives of torch.distributed by the backend, each against its definition."""
import functools

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

NUMBERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
           torch.bfloat16, torch.float32, torch.float64]
MOVED = [*NUMBERS, torch.bool, torch.complex64, *(
    getattr(torch, name) for name in ["float8_e4m3fn"] if hasattr(torch, name))]


def of(rank, dtype=torch.float32, shape=(3, 2)):
    """The tensor of a rank: small numbers, so that products fit in every dtype."""
    count = torch.Size(shape).numel()
    return ((torch.arange(count).view(shape) + rank) % 3 + 1).to(dtype)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


# --- Reductions ---

@pytest.mark.parametrize("dtype", NUMBERS)
def test_all_reduce_by_each_op(dtype, rank, size):
    everyone = [of(r, dtype) for r in range(size)]
    expected = {
        ReduceOp.SUM: sum(everyone[1:], everyone[0]),
        ReduceOp.PRODUCT: functools.reduce(torch.mul, everyone),
        ReduceOp.MIN: functools.reduce(torch.minimum, everyone),
        ReduceOp.MAX: functools.reduce(torch.maximum, everyone)}
    if dtype.is_floating_point:
        expected[ReduceOp.AVG] = (sum(one.double() for one in everyone) / size).to(dtype)
    else:
        expected |= {ReduceOp.BAND: functools.reduce(torch.bitwise_and, everyone),
                     ReduceOp.BOR: functools.reduce(torch.bitwise_or, everyone),
                     ReduceOp.BXOR: functools.reduce(torch.bitwise_xor, everyone)}
    for op, value in expected.items():
        tensor = of(rank, dtype)
        dist.all_reduce(tensor, op=op)
        torch.testing.assert_close(tensor, value)


def test_all_reduce_scales_before_the_sum(rank, size):
    tensor = of(rank)
    dist.all_reduce(tensor, op=dist._make_nccl_premul_sum(0.5))
    torch.testing.assert_close(tensor, sum(of(r) for r in range(size)) * 0.5)


def test_all_reduce_of_complex_and_sparse_tensors(rank, size):
    tensor = torch.complex(of(rank), -of(rank))
    dist.all_reduce(tensor)
    total = sum(of(r) for r in range(size))
    torch.testing.assert_close(tensor, torch.complex(total, -total))
    with pytest.raises(ValueError):
        dist.all_reduce(torch.ones(2, dtype=torch.complex64), op=ReduceOp.MAX)

    sparse = torch.sparse_coo_tensor([[rank, size]], torch.ones(2, 3), (size + 1, 3))
    dist.all_reduce(sparse)
    expected = torch.ones(size + 1, 3)
    expected[size] = size
    torch.testing.assert_close(sparse.to_dense(), expected)


def test_tensors_of_any_strides_and_sizes(rank, size):
    columns = of(rank).t()
    dist.all_reduce(columns)
    torch.testing.assert_close(columns, sum(of(r) for r in range(size)).t())
    empty = torch.empty(0, 3)
    dist.all_reduce(empty)
    outputs = [torch.empty(0, 3) for _ in range(size)]
    dist.all_gather(outputs, empty)
    spread = torch.zeros(2, 3).t()
    dist.broadcast(spread.copy_(of(rank)), size - 1)
    torch.testing.assert_close(spread, of(size - 1))
    single = torch.tensor(float(rank))
    dist.all_reduce(single, op=ReduceOp.MAX)
    assert single.item() == size - 1


def test_reduce_changes_the_roots_tensor_alone(rank, size):
    for op, together in ((ReduceOp.SUM, torch.add), (ReduceOp.BOR, torch.bitwise_or)):
        tensor = of(rank, torch.int32)
        dist.reduce(tensor, dst=size - 1, op=op)
        expected = functools.reduce(together, [of(r, torch.int32) for r in range(size)])
        torch.testing.assert_close(tensor, expected if rank == size - 1 else
                                   of(rank, torch.int32))


@pytest.mark.parametrize("op", [ReduceOp.SUM, ReduceOp.MAX, ReduceOp.BXOR])
def test_reduce_scatter(op, rank, size):
    combine = {ReduceOp.SUM: torch.add, ReduceOp.MAX: torch.maximum,
               ReduceOp.BXOR: torch.bitwise_xor}[op]
    mine = functools.reduce(combine, [of(r + rank, torch.int64) for r in range(size)])
    parts = [of(rank + r, torch.int64) for r in range(size)]
    output = torch.zeros(3, 2, dtype=torch.int64)
    dist.reduce_scatter(output, parts, op=op)
    torch.testing.assert_close(output, mine)
    output.zero_()
    dist.reduce_scatter_tensor(output, torch.cat(parts), op=op)
    torch.testing.assert_close(output, mine)


def test_reduce_scatter_of_parts_of_several_sizes(rank, size):
    output = torch.zeros(rank + 1)
    dist.reduce_scatter(output, [torch.full((r + 1,), r + 1.0) for r in range(size)])
    torch.testing.assert_close(output, torch.full((rank + 1,), (rank + 1.0) * size))


# --- Moves ---

@pytest.mark.parametrize("dtype", MOVED)
def test_broadcast_and_all_gather(dtype, rank, size):
    tensor = of(rank, dtype)
    dist.broadcast(tensor, size - 1)
    same(tensor, of(size - 1, dtype))
    outputs = [torch.zeros(3, 2, dtype=dtype) for _ in range(size)]
    dist.all_gather(outputs, of(rank, dtype))
    for r, output in enumerate(outputs):
        same(output, of(r, dtype))
    for whole in (torch.zeros(3 * size, 2, dtype=dtype), torch.zeros(size, 3, 2, dtype=dtype)):
        dist.all_gather_into_tensor(whole, of(rank, dtype))
        same(whole.view(size, 3, 2), torch.stack([of(r, dtype) for r in range(size)]))


def test_all_gather_of_several_sizes(rank, size):
    outputs = [torch.zeros(r + 1) for r in range(size)]
    dist.all_gather(outputs, torch.full((rank + 1,), float(rank)))
    assert [output.tolist() for output in outputs] == [[float(r)] * (r + 1) for r in range(size)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_gather_and_scatter(dtype, rank, size):
    root = size - 1
    parts = [torch.zeros(3, 2, dtype=dtype) for _ in range(size)] if rank == root else None
    dist.gather(of(rank, dtype), parts, dst=root)
    for r, part in enumerate(parts or []):
        same(part, of(r, dtype))
    output = torch.zeros(3, 2, dtype=dtype)
    sources = [of(10 + r, dtype) for r in range(size)] if rank == root else None
    dist.scatter(output, sources, src=root)
    same(output, of(10 + rank, dtype))


def test_all_to_all(rank, size):
    def part(sender, receiver):
        return torch.full((sender + 1, 2), 10.0 * sender + receiver)

    output = torch.zeros(size, 2)
    source = torch.cat([part(rank, r)[:1] for r in range(size)])
    dist.all_to_all_single(output, source)
    torch.testing.assert_close(output, torch.cat([part(r, rank)[:1] for r in range(size)]))

    received = [r + 1 for r in range(size)]
    output = torch.zeros(sum(received), 2)
    dist.all_to_all_single(output, torch.cat([part(rank, r) for r in range(size)]), received,
                           [rank + 1] * size)
    expected = [part(r, rank) for r in range(size)]
    torch.testing.assert_close(output, torch.cat(expected))
    outputs = [torch.zeros(r + 1, 2) for r in range(size)]
    dist.all_to_all(outputs, [part(rank, r) for r in range(size)])
    torch.testing.assert_close(outputs, expected)
    with pytest.raises(ValueError, match="dim 0"):
        dist.all_to_all_single(output, source, [1] * (size + 1), [1] * size)


def test_objects(rank, size):
    everyone = [None] * size
    dist.all_gather_object(everyone, {"rank": rank, "text": "x" * rank})
    assert everyone == [{"rank": r, "text": "x" * r} for r in range(size)]
    objects = [f"from {rank}", rank]
    dist.broadcast_object_list(objects, src=size - 1)
    assert objects == [f"from {size - 1}", size - 1]
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(rank, gathered, dst=0)
    assert rank != 0 or gathered == list(range(size))
    mine = [None]
    dist.scatter_object_list(mine, [f"to {r}" for r in range(size)] if rank == 0 else None, src=0)
    assert mine == [f"to {rank}"]


def test_barrier_waits_for_all(rank, size):
    dist.barrier()
    work = dist.barrier(async_op=True)
    work.wait()
    assert work.is_completed()


# --- Coalesced forms ---

def test_coalesced_forms(rank, size):
    total = sum(of(r) for r in range(size))
    tensors = [of(rank), of(rank) * 2, of(rank).t().clone()]
    dist.all_reduce_coalesced(tensors)
    torch.testing.assert_close(tensors, [total, total * 2, total.t().clone()])
    outputs = [[torch.zeros(2), torch.zeros(3)] for _ in range(size)]
    dist.all_gather_coalesced(outputs, [torch.ones(2) * rank, torch.ones(3) * 10 * rank])
    for r, of_rank in enumerate(outputs):
        assert [output.tolist() for output in of_rank] == [[float(r)] * 2, [10.0 * r] * 3]


def test_coalescing_manager(rank, size):
    total = sum(of(r) for r in range(size))
    manager = dist.distributed_c10d._coalescing_manager
    with manager():
        tensors = [of(rank), of(rank) * 3]
        for tensor in tensors:
            dist.all_reduce(tensor)
    torch.testing.assert_close(tensors, [total, total * 3])
    with manager(async_ops=True) as works:
        wholes = [torch.zeros(size), torch.zeros(2 * size)]
        for number, whole in enumerate(wholes):
            dist.all_gather_into_tensor(whole, torch.full((number + 1,), float(rank)))
    works.wait()
    assert wholes[1].tolist() == [float(r) for r in range(size) for _ in range(2)]
    with manager():
        outputs = [torch.zeros(1), torch.zeros(2)]
        for number, output in enumerate(outputs):
            dist.reduce_scatter_tensor(output, torch.ones((number + 1) * size))
    assert outputs[1].tolist() == [float(size)] * 2
    with manager(device=torch.device("cpu"), async_ops=True) as works:
        first, second = of(rank), of(rank)
        dist.broadcast(first, 0)
        dist.broadcast(second, size - 1)
    works.wait()
    torch.testing.assert_close([first, second], [of(0), of(size - 1)])


def test_functional_collectives(rank, size, world):
    import torch.distributed._functional_collectives as functional
    total = sum(of(r) for r in range(size))
    torch.testing.assert_close(functional.all_reduce(of(rank), "sum", world) + 0, total)
    torch.testing.assert_close(functional.all_gather_tensor(of(rank), 0, world) + 0,
                               torch.cat([of(r) for r in range(size)]))
    scattered = functional.reduce_scatter_tensor(torch.cat([of(rank)] * size), "sum", 0, world)
    torch.testing.assert_close(scattered + 0, total)
    torch.testing.assert_close(functional.broadcast(of(rank), 0, world) + 0, of(0))
    exchanged = functional.all_to_all_single(torch.full((size,), float(rank)), None, None, world)
    assert (exchanged + 0).tolist() == [float(r) for r in range(size)]
    several = functional.all_reduce_coalesced([of(rank), of(rank)], "avg", world)
    torch.testing.assert_close(several[1] + 0, total / size)
    gathered = functional.all_gather_into_tensor_coalesced([of(rank)], world)
    torch.testing.assert_close(gathered[0] + 0, torch.cat([of(r) for r in range(size)]))
    parts = functional.reduce_scatter_tensor_coalesced([torch.cat([of(rank)] * size)], "sum", [0],
                                                       world)
    torch.testing.assert_close(parts[0] + 0, total)
