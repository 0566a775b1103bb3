# SPDX-License-Identifier: Apache-2.0
"""The collectives: values, dtypes, errors. Their gradients are in gradients_test.py."""
import math

import pytest
import torch

import horovodpp.torch as hvd
from horovodpp.common.exceptions import HorovodInternalError, InvalidCallError
from horovodpp.torch.dtypes import _MOVED_ONLY, _NUMBERS

numpy = pytest.importorskip("numpy")
COMPUTED = [dtype for dtype in _NUMBERS if dtype != torch.bool]
FLOATING = [dtype for dtype in COMPUTED if dtype.is_floating_point]
MOVED = [*_NUMBERS, *sorted(_MOVED_ONLY, key=str)]


def filled(dtype, rows, value):
    """A tensor [rows, 2] of any dtype. Dtypes without arithmetic are filled by their bytes."""
    if dtype in _NUMBERS:
        return torch.full((rows, 2), value).to(dtype)
    memory = torch.full((rows, 2 * torch.empty(1, dtype=dtype).element_size()), value,
                        dtype=torch.uint8)
    return memory.view(dtype)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and \
        torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


# --- allreduce ---

@pytest.mark.parametrize("dtype", COMPUTED)
def test_allreduce_sums_averages_and_compares(dtype, rank, size):
    mine = torch.arange(5).to(dtype) + rank + 1
    everyone = torch.stack([torch.arange(5) + r + 1 for r in range(size)]).double()
    expected = {hvd.Sum: everyone.sum(0), hvd.Average: everyone.mean(0),
                hvd.Min: everyone.min(0).values, hvd.Max: everyone.max(0).values,
                hvd.Product: everyone.prod(0)}
    for op, value in expected.items():
        if dtype in (torch.uint8, torch.int8) and value.max() > 127:
            continue
        result = hvd.allreduce(mine, op=op)
        assert result.dtype == dtype and result.data_ptr() != mine.data_ptr()
        torch.testing.assert_close(result, value.to(dtype))


def test_allreduce_of_bool_is_and_or(rank):
    mixed = torch.tensor([True, False, rank == 0])
    assert hvd.allreduce(mixed, op=hvd.Min).tolist() == [True, False, hvd.size() == 1]
    assert hvd.allreduce(mixed, op=hvd.Product).tolist() == [True, False, hvd.size() == 1]
    assert hvd.allreduce(mixed, op=hvd.Max).tolist() == [True, False, True]


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (7,), (3, 1, 5), (1,) * 8])
def test_allreduce_keeps_shapes(shape, size):
    result = hvd.allreduce(torch.ones(shape), op=hvd.Sum)
    assert result.shape == shape and torch.all(result == size)


def test_allreduce_scales_before_and_after(rank, size):
    mine = torch.tensor([4.0, rank + 1.0])
    result = hvd.allreduce(mine, op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0)
    assert result.tolist() == [6.0 * size, 1.5 * sum(range(1, size + 1))]
    numbers = torch.tensor([4, 6])
    result = hvd.allreduce(numbers, op=hvd.Sum, prescale_factor=0.5)
    assert result.tolist() == [2 * size, 3 * size]


def test_allreduce_in_place_changes_its_tensor(rank, size):
    tensor = torch.tensor([float(rank)])
    version = tensor._version
    assert hvd.allreduce_(tensor, None, "in.place", hvd.Sum) is tensor
    assert tensor.item() == sum(range(size))
    assert tensor._version > version
    handle = hvd.allreduce_async_(tensor, op=hvd.Max)
    assert hvd.synchronize(handle) is tensor


def test_average_is_an_old_name_of_op():
    ones = torch.ones(2)
    with pytest.raises(ValueError, match="The op parameter supersedes average. Please provide "
                                         "only one of them."):
        hvd.allreduce(ones, average=True, op=hvd.Sum)
    text = "Parameter `average` has been replaced with `op` and will be removed in v1.0"
    with pytest.warns(DeprecationWarning, match=text):
        assert hvd.allreduce(ones, average=False)[0] == hvd.size()
    with pytest.warns(DeprecationWarning, match=text):
        assert hvd.allreduce(ones, True)[0] == 1
    with pytest.warns(DeprecationWarning, match=text):
        hvd.synchronize(hvd.grouped_allreduce_async([ones], average=True))


@pytest.mark.parametrize("compression", [hvd.Compression.none, hvd.Compression.fp16,
                                         hvd.Compression.bf16])
def test_compression_is_undone(compression, size):
    for dtype in FLOATING:
        result = hvd.allreduce(torch.ones(3, dtype=dtype), op=hvd.Sum, compression=compression)
        assert result.dtype == dtype and result.tolist() == [size] * 3
    numbers = hvd.allreduce(torch.tensor([100000]), op=hvd.Sum, compression=compression)
    assert numbers.item() == 100000 * size
    scattered = hvd.reducescatter(torch.ones(size), op=hvd.Sum, compression=compression)
    assert scattered.tolist() == [size]
    grouped = hvd.grouped_allreduce([torch.ones(2), torch.ones(1)], compression=compression)
    assert [t.tolist() for t in grouped] == [[1, 1], [1]]
    grouped = hvd.grouped_reducescatter([torch.ones(size)], op=hvd.Sum, compression=compression)
    assert [t.tolist() for t in grouped] == [[size]]


def test_compressors_work_alone():
    tensor = torch.tensor([1.5, 2.5])
    narrow, context = hvd.Compression.fp16.compress(tensor)
    assert narrow.dtype == torch.float16 and context == torch.float32
    assert hvd.Compression.fp16.decompress(narrow, context).dtype == torch.float32
    numbers = torch.tensor([1])
    same_numbers, context = hvd.Compression.fp16.compress(numbers)
    assert same_numbers is numbers and context == torch.int64
    assert hvd.Compression.none.compress(tensor) == (tensor, None)


def test_adasum_of_equal_vectors_is_one_of_them(rank):
    same_everywhere = torch.tensor([3.0, 4.0])
    for dtype in FLOATING:
        result = hvd.allreduce(same_everywhere.to(dtype), op=hvd.Adasum)
        torch.testing.assert_close(result, same_everywhere.to(dtype))
    with pytest.raises(ValueError, match="torch.IntTensor is not supported"):
        hvd.allreduce(torch.ones(2, dtype=torch.int32), op=hvd.Adasum)


def test_adasum_of_orthogonal_vectors_is_their_sum(rank, size):
    mine = torch.zeros(size)
    mine[rank] = 2.0
    assert hvd.allreduce(mine, op=hvd.Adasum).tolist() == [2.0] * size


def test_names_match_tensors_of_ranks_in_any_order(rank, size):
    order = range(10) if rank % 2 == 0 else reversed(range(10))
    handles = {i: hvd.allreduce_async(torch.tensor([float(i)]), name=f"ordered.{i}", op=hvd.Sum)
               for i in order}
    for i, handle in handles.items():
        assert hvd.synchronize(handle).item() == i * size


# --- Groups ---

def test_groups_are_reduced_together(rank, size):
    tensors = [torch.full((i + 1,), float(rank)) for i in range(4)]
    total = sum(range(size))
    results = hvd.grouped_allreduce(tensors, op=hvd.Sum, name="group")
    assert isinstance(results, list)
    assert [t.tolist() for t in results] == [[total] * (i + 1) for i in range(4)]
    in_place = hvd.grouped_allreduce_(tensors, op=hvd.Sum, prescale_factor=2.0)
    assert all(a is b for a, b in zip(in_place, tensors))
    assert tensors[3].tolist() == [2 * total] * 4
    handle = hvd.grouped_allreduce_async_(tensors, op=hvd.Average)
    assert hvd.synchronize(handle)[0].tolist() == [2 * total]
    handle = hvd.grouped_allreduce_async(tuple(tensors), op=hvd.Average)
    assert hvd.synchronize(handle)[0].tolist() == [2 * total]


def test_a_group_may_have_several_dtypes(size):
    tensors = [torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(1).half()]
    results = hvd.grouped_allreduce(tensors, op=hvd.Sum)
    assert [t.dtype for t in results] == [t.dtype for t in tensors]
    assert [t[0].item() for t in results] == [size] * 3


@pytest.mark.parametrize("function", [
    hvd.grouped_allreduce, hvd.grouped_allreduce_, hvd.grouped_allgather,
    hvd.grouped_reducescatter])
def test_a_group_has_members(function):
    with pytest.raises(ValueError, match="at least one"):
        function([])


def test_grouped_gathers_and_scatters(rank, size):
    tensors = [torch.full((rank + 1, 2), rank), torch.full((2,), rank)]
    rows, pairs = hvd.grouped_allgather(tensors)
    assert rows[:, 0].tolist() == [r for r in range(size) for _ in range(r + 1)]
    assert pairs.tolist() == [r for r in range(size) for _ in range(2)]
    handle = hvd.grouped_allgather_async(tensors, name="gathered")
    assert isinstance(hvd.synchronize(handle), tuple)
    scattered = hvd.grouped_reducescatter([torch.ones(size, 3), torch.ones(2 * size)], op=hvd.Sum)
    assert isinstance(scattered, list)
    assert [tuple(t.shape) for t in scattered] == [(1, 3), (2,)]
    handle = hvd.grouped_reducescatter_async([torch.ones(size)])
    assert hvd.synchronize(handle)[0].tolist() == [1]


# --- Collectives that only move data ---

@pytest.mark.parametrize("dtype", MOVED, ids=str)
def test_every_dtype_is_gathered_broadcast_and_exchanged(dtype, rank, size):
    everyone = torch.cat([filled(dtype, r + 1, r + 1).view(torch.uint8) for r in range(size)]) \
        .view(dtype)
    assert same(hvd.allgather(filled(dtype, rank + 1, rank + 1)), everyone)
    root = size - 1
    assert same(hvd.broadcast(filled(dtype, 3, rank + 1), root), filled(dtype, 3, root + 1))
    tensor = filled(dtype, 3, rank + 1)
    assert hvd.broadcast_(tensor, root) is tensor
    assert same(tensor, filled(dtype, 3, root + 1))
    sent = filled(dtype, size, rank + 1)
    everyone = torch.cat([filled(dtype, 1, r + 1).view(torch.uint8) for r in range(size)])
    assert same(hvd.alltoall(sent), everyone.view(dtype))


def test_allgather_of_unequal_and_of_no_rows(rank, size):
    rows = torch.full((rank, 2), float(rank))
    gathered = hvd.allgather(rows, name="uneven")
    assert gathered.tolist() == [[r, r] for r in range(size) for _ in range(r)]
    nothing = hvd.allgather(torch.empty(0, 5))
    assert nothing.shape == (0, 5)
    assert hvd.synchronize(hvd.allgather_async(rows)).shape == gathered.shape


def test_broadcast_has_async_forms(rank, size):
    handle = hvd.broadcast_async(torch.tensor([rank]), size - 1, name="cast")
    assert hvd.synchronize(handle).item() == size - 1
    tensor = torch.tensor([rank])
    handle = hvd.broadcast_async_(tensor, size - 1)
    assert hvd.synchronize(handle) is tensor and tensor.item() == size - 1
    assert hvd.broadcast(torch.tensor(rank), 0).shape == ()


def test_alltoall_by_splits(rank, size):
    rows = [torch.full((r + 1,), rank) for r in range(size)]
    splits = torch.tensor([r + 1 for r in range(size)], dtype=torch.int32)
    output, received = hvd.alltoall(torch.cat(rows), splits)
    assert output.tolist() == [r for r in range(size) for _ in range(rank + 1)]
    assert received.tolist() == [rank + 1] * size and received.dtype == torch.int32
    output, received = hvd.synchronize(hvd.alltoall_async(torch.ones(size + 5), [1] * size))
    assert output.shape == (size,) and received.tolist() == [1] * size
    empty = hvd.alltoall(torch.ones(0, 3))
    assert empty.shape == (0, 3)


def test_reduce_is_for_one_rank(rank, size):
    root = size - 1
    mine = torch.full((2, 3), rank + 1.0)
    result = hvd.reduce(mine, root, op=hvd.Sum, name="for one")
    if rank == root:
        assert result.tolist() == [[size * (size + 1) / 2] * 3] * 2
    else:
        assert result.numel() == 0 and result.dtype == torch.float32
    assert hvd.reduce_(mine, root, op=hvd.Max) is mine
    assert mine[0, 0].item() == (size if rank == root else rank + 1)
    handle = hvd.reduce_async(torch.tensor(rank), 0, op=hvd.Sum)
    assert hvd.synchronize(handle).tolist() == (size * (size - 1) // 2 if rank == 0 else [])


def test_gather_is_for_one_rank(rank, size):
    root = size - 1
    rows = hvd.gather(torch.full((rank, 2), rank), root, name="to one")
    expected = [[r, r] for r in range(size) for _ in range(r)] if rank == root else []
    assert rows.tolist() == expected and rows.shape[1] == 2


def test_scatter_is_from_one_rank(rank, size):
    root = size - 1
    table = torch.arange(2 * size + 1)
    mine = table if rank == root else table[:0]
    shares = [3] + [2] * (size - 1)
    before = sum(shares[:rank])
    assert hvd.scatter(mine, root).tolist() == list(range(before, before + shares[rank]))
    splits = [0] * (size - 1) + [size]
    assert hvd.scatter(mine, root, splits).tolist() == (list(range(size)) if rank == root else [])
    if rank == root:
        with pytest.raises(ValueError, match="Number of entries in splits"):
            hvd.scatter(mine, root, [1] * (size + 1))
    with pytest.raises(ValueError, match="gather received invalid root rank"):
        hvd.gather(mine, size)


def test_alltoall_refuses_bad_splits(size):
    def expect(text, tensor, splits):
        with pytest.raises(ValueError, match=text):
            hvd.alltoall(tensor, splits)

    expect("alltoall expects a 1D splits tensor", torch.ones(size),
           torch.ones(1, size, dtype=torch.int32))
    expect("alltoall expects splits to contain 32-bit integer elements.", torch.ones(size),
           torch.ones(size))
    expect("Sum of splits entries is greater than the first dimension of tensor.",
           torch.ones(size), [2] * size)
    expect("Number of entries in splits does not equal number of workers.", torch.ones(size),
           [1] * (size + 1))
    expect("at least 0", torch.ones(size), [-1] * size)
    expect("scalar", torch.tensor(1.0), None)
    if size > 1:
        expect("splits not provided, but first dimension of tensor is not an even multiple of "
               "the number of workers.", torch.ones(size + 1), None)


@pytest.mark.parametrize("dtype", COMPUTED)
def test_reducescatter_leaves_each_rank_its_rows(dtype, rank, size):
    rows = 2 * size + 1
    mine = (torch.arange(rows * 2).reshape(rows, 2) % 5).to(dtype)
    result = hvd.reducescatter(mine, op=hvd.Sum)
    first = sum(rows // size + (r < rows % size) for r in range(rank))
    count = rows // size + (rank < rows % size)
    assert result.dtype == dtype
    torch.testing.assert_close(result, mine[first:first + count] * size)
    handle = hvd.reducescatter_async(mine)
    torch.testing.assert_close(hvd.synchronize(handle), mine[first:first + count])
    for op in (hvd.Min, hvd.Max):
        torch.testing.assert_close(hvd.reducescatter(mine, op=op), mine[first:first + count])


def test_reducescatter_scales(size):
    result = hvd.reducescatter(torch.ones(size), op=hvd.Sum, prescale_factor=0.5,
                               postscale_factor=4.0)
    assert result.tolist() == [2.0 * size]


def test_reducescatter_refuses_scalars_and_adasum():
    with pytest.raises(ValueError, match="Reducescatter does not support scalar inputs"):
        hvd.reducescatter(torch.tensor(1.0))
    with pytest.raises(HorovodInternalError, match="every op but Adasum"):
        hvd.reducescatter(torch.ones(4), op=hvd.Adasum)


# --- Sparse ---

def test_sparse_allreduce_gathers_entries(rank, size):
    tensor = torch.sparse_coo_tensor([[rank, 3]], torch.tensor([[1.0, 1.0], [2.0, 2.0]]), (5, 2))
    wait = hvd.sparse_allreduce_async(tensor, "sparse", hvd.Sum)
    expected = sum(torch.sparse_coo_tensor([[r, 3]], torch.tensor([[1.0, 1.0], [2.0, 2.0]]),
                                           (5, 2)).to_dense() for r in range(size))
    result = wait()
    assert result.is_sparse
    assert torch.equal(result.to_dense(), expected)
    mean = hvd.sparse_allreduce_async(tensor, "sparse", hvd.Average)()
    torch.testing.assert_close(mean.to_dense(), expected / size)


def test_sparse_allreduce_of_an_empty_tensor():
    for dense in ((), (3,)):
        empty = torch.sparse_coo_tensor(torch.empty(1, 0, dtype=torch.int64),
                                        torch.empty(0, *dense), (5, *dense))
        result = hvd.sparse_allreduce_async(empty, "nothing", hvd.Sum)()
        assert result.is_sparse and result.shape == empty.shape
        assert result.to_dense().abs().sum() == 0


# --- Misuse ---

def collectives_of(tensor):
    yield lambda: hvd.allreduce_async(tensor)
    yield lambda: hvd.allreduce_async_(tensor)
    yield lambda: hvd.grouped_allreduce_async([tensor])
    yield lambda: hvd.grouped_allreduce_async_([tensor])
    yield lambda: hvd.reducescatter_async(tensor)
    yield lambda: hvd.grouped_reducescatter_async([tensor])
    yield lambda: hvd.allgather_async(tensor)
    yield lambda: hvd.grouped_allgather_async([tensor])
    yield lambda: hvd.broadcast_async(tensor, 0)
    yield lambda: hvd.broadcast_async_(tensor, 0)
    yield lambda: hvd.alltoall_async(tensor, [0] * hvd.size())


def test_memory_has_to_be_contiguous():
    for call in collectives_of(torch.ones(4, 4).t()):
        with pytest.raises(ValueError, match="Tensor is required to be contiguous."):
            call()


def test_memory_has_to_be_the_cpus():
    for call in collectives_of(torch.ones(4, device="meta")):
        with pytest.raises(ValueError, match=r"on meta.*tensor.cpu\(\)"):
            call()


def test_memory_has_to_be_dense():
    for call in collectives_of(torch.eye(4).to_sparse()):
        with pytest.raises(ValueError, match="Tensor type torch.sparse.FloatTensor is not "
                                             "supported."):
            call()


def test_a_conjugate_is_refused():
    with pytest.raises(ValueError, match="resolve_conj"):
        hvd.allgather(torch.ones(1, dtype=torch.complex64).conj())


def test_a_root_is_a_rank(size):
    for function in (hvd.broadcast, hvd.broadcast_):
        with pytest.raises(ValueError, match=f"broadcast received invalid root rank {size} for "
                                             "provided process set"):
            function(torch.ones(1), size)
        for root in (0.0, "0", None):
            with pytest.raises(ValueError, match=f"root rank {root!r}: give the number of a rank"):
                function(torch.ones(1), root)


def test_a_name_is_a_str():
    for function in (hvd.allreduce, hvd.allgather, hvd.reducescatter):
        with pytest.raises(TypeError, match="name is 3: the name of a collective is a str"):
            function(torch.ones(1), name=3)


def unheard_of(tensor):
    yield "op is 17: use hvd.Average", lambda: hvd.allreduce_async(tensor, op=17)
    yield "op is 'sum': use hvd.Average", lambda: hvd.allreduce_async(tensor, op="sum")
    yield "op", lambda: hvd.allreduce_async_(tensor, op=17)
    yield "op", lambda: hvd.grouped_allreduce_async([tensor], op=17)
    yield "op", lambda: hvd.reducescatter_async(tensor, op=17)
    yield "scale", lambda: hvd.allreduce_async(tensor, op=hvd.Sum, prescale_factor=math.nan)
    yield "scale", lambda: hvd.allreduce_async_(tensor, op=hvd.Sum, postscale_factor=math.inf)


# An invalid argument on one rank is not a failure of the job, for which elastic training would
# start again.
def test_invalid_arguments_are_refused_at_once(size):
    for text, call in unheard_of(torch.ones(4)):
        with pytest.raises(ValueError, match=text) as refused:
            call()
        assert not isinstance(refused.value, HorovodInternalError)
    assert hvd.allreduce(torch.ones(4), op=hvd.Sum).tolist() == [size] * 4


def test_a_scalar_has_no_rows():
    with pytest.raises(IndexError, match="reshape"):
        hvd.allgather(torch.tensor(1.0))
    with pytest.raises(IndexError, match="reshape"):
        hvd.grouped_allgather([torch.tensor(1.0)])


def mismatches(rank):
    yield "data type|dtype", lambda: hvd.allreduce(
        torch.ones(2, dtype=torch.float32 if rank else torch.int64), name="m.dtype")
    yield "shape", lambda: hvd.allreduce(torch.ones(2 + (rank > 0)), name="m.shape")
    yield "op", lambda: hvd.allreduce(torch.ones(2), name="m.op", op=hvd.Sum if rank else hvd.Max)
    yield "scale", lambda: hvd.allreduce(torch.ones(2), name="m.scale", op=hvd.Sum,
                                         prescale_factor=1.0 + (rank > 0))
    yield "root", lambda: hvd.broadcast(torch.ones(2), min(rank, 1), name="m.root")
    yield "shape|dimension", lambda: hvd.allgather(torch.ones(2, 2 + (rank > 0)), name="m.gather")
    yield "shape|dimension", lambda: hvd.alltoall(torch.ones(12, *[2] * (1 + (rank > 0))),
                                                  name="m.alltoall")
    yield "shape", lambda: hvd.reducescatter(torch.ones(2 + (rank > 0)), name="m.scatter")
    yield "allgather", lambda: (hvd.allgather if rank else hvd.allreduce)(
        torch.ones(2), name="m.operation")
    yield "group", lambda: hvd.grouped_allreduce([torch.ones(2)] * (1 + (rank > 0)), name="m.group")


def test_mismatches_are_described(rank, size):
    if size == 1:
        pytest.skip("one rank agrees with itself")
    for text, call in mismatches(rank):
        with pytest.raises(HorovodInternalError,
                           match=f"(?is)rank [1-3].*({text})|({text}).*rank [1-3]") as told:
            call()
        assert isinstance(told.value, InvalidCallError) and isinstance(told.value, ValueError)
    assert hvd.allreduce(torch.ones(1), name="m.shape", op=hvd.Sum).item() == size


# --- Waiting for other ranks ---

def test_join_returns_the_last_rank(rank, size):
    for _ in range(rank):
        hvd.allreduce(torch.ones(3), name="uneven.step", op=hvd.Sum)
    assert hvd.join() == size - 1


def test_joined_ranks_do_not_change_results(rank, size):
    if rank == 0:
        hvd.join()
        return
    ones = torch.full((3,), 2.0)
    rest = size - 1
    assert hvd.allreduce(ones, op=hvd.Sum, name="j.sum").tolist() == [2.0 * rest] * 3
    torch.testing.assert_close(hvd.allreduce(ones, name="j.mean"), ones * rest / size)
    assert hvd.allreduce(ones, op=hvd.Min, name="j.min").tolist() == [2.0] * 3
    assert hvd.allreduce(ones, op=hvd.Product, name="j.prod").tolist() == [2.0 ** rest] * 3
    assert [t.tolist() for t in hvd.grouped_allreduce([ones, ones], op=hvd.Max, name="j.group")] \
        == [[2.0] * 3] * 2
    hvd.join()


NOT_TENSORS = {
    "allreduce": hvd.allreduce, "allreduce_": hvd.allreduce_,
    "allreduce_async": hvd.allreduce_async, "allgather": hvd.allgather,
    "allgather_async": hvd.allgather_async, "broadcast": lambda x: hvd.broadcast(x, 0),
    "broadcast_": lambda x: hvd.broadcast_(x, 0), "alltoall": hvd.alltoall,
    "reducescatter": hvd.reducescatter,
    "fp16": lambda x: hvd.allreduce(x, compression=hvd.Compression.fp16),
    "grouped": lambda x: hvd.grouped_allreduce([torch.ones(1), x]),
    "sparse": lambda x: hvd.sparse_allreduce_async(x, "s", hvd.Sum)}


@pytest.mark.parametrize("call", NOT_TENSORS.values(), ids=NOT_TENSORS)
@pytest.mark.parametrize("wrong", [numpy.ones(4), [1.0, 2.0], 3], ids=["numpy", "list", "int"])
def test_an_argument_that_is_no_tensor_is_refused_by_its_type(call, wrong):
    kind = f"{type(wrong).__module__}.{type(wrong).__name__}"
    with pytest.raises(TypeError, match=f"tensors of torch, not {kind}.*torch.as_tensor"):
        call(wrong)


def test_barrier_returns_none():
    assert hvd.barrier() is None
