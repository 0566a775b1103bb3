# SPDX-License-Identifier: Apache-2.0
"""The reductions of a group: allreduce, reduce and reduce_scatter, and their coalesced forms."""
import functools
from typing import NamedTuple

import torch
from torch.distributed import ReduceOp

from horovodpp import _core
from horovodpp.common import ops
from horovodpp.torch.backend import memory


class Reduction(NamedTuple):
    """What the library computes for a ReduceOp of torch."""
    name: str
    op: int  # -1: the library has none, and `fold` reduces gathered tensors.
    prescale: float = 1.0
    fold: object = None


_REDUCTIONS = {
    hash(getattr(ReduceOp, name)): Reduction(name, op, fold=fold) for name, op, fold in (
        ("SUM", ops.Sum, None), ("AVG", ops.Average, None), ("PRODUCT", ops.Product, None),
        ("MIN", ops.Min, None), ("MAX", ops.Max, None), ("BAND", -1, torch.bitwise_and),
        ("BOR", -1, torch.bitwise_or), ("BXOR", -1, torch.bitwise_xor))}


def reduction_of(op):
    """The Reduction of a ReduceOp. Raises ValueError for an op that the library lacks."""
    found = _REDUCTIONS.get(hash(op))
    if found is not None:
        return found
    op_and_factor = op.__getstate__() if hasattr(op, "__getstate__") else (op, None)
    factor = op_and_factor[1] if len(op_and_factor) > 1 else None
    if isinstance(factor, torch.Tensor) and factor.numel() == 1:
        factor = factor.item()
    if not isinstance(factor, (int, float)):
        raise ValueError(f"horovodpp has no reduction {op}; PREMUL_SUM takes one number")
    return Reduction("PREMUL_SUM", ops.Sum, float(factor))


def _check(tensor, reduction):
    if tensor.is_complex() and reduction.op not in (ops.Sum, ops.Average):
        raise ValueError(f"horovodpp reduces complex tensors by SUM and AVG, not {reduction.name}")


class Reductions:
    """A part of ProcessGroup; see group.py for _run()."""

    def allreduce(self, tensors, opts=None):
        opts = opts or self.options.allreduce
        if isinstance(tensors, torch.Tensor):
            tensors = [tensors]
        if len(tensors) != 1:
            return self.allreduce_coalesced(tensors, opts)
        tensor = tensors[0]
        reduction = reduction_of(opts.reduceOp)
        if tensor.is_sparse:
            return self._allreduce_sparse(tensor, reduction, opts)
        _check(tensor, reduction)
        if reduction.fold:
            return self._fold(tensor, reduction, opts, [tensor])
        staged = tensor if tensor.is_contiguous() else memory.dense(tensor)
        numbers = staged if staged.dtype in memory._NUMBERS else memory.as_numbers(staged)
        described = memory.described(numbers)
        key = ("all_reduce", reduction.name, reduction.prescale, described[1], described[2])
        return self._run(
            key, lambda name: _core.allreduce_(described, name, reduction.op, reduction.prescale,
                                               1.0, self.core),
            opts, tensors, staged is not tensor and (lambda _: tensor.copy_(staged)), staged)

    def allreduce_coalesced(self, tensors, opts=None):
        opts = opts or self.options.allreduce
        reduction = reduction_of(opts.reduceOp)
        staged = [memory.dense(tensor) for tensor in tensors]
        for tensor in staged:
            _check(tensor, reduction)
        if reduction.fold:
            return self._several([self.allreduce([tensor], opts) for tensor in tensors])
        described = [memory.described(memory.as_numbers(tensor)) for tensor in staged]
        key = ("all_reduce", reduction.name, reduction.prescale, *(d[1:3] for d in described))

        def finish(_):
            for tensor, copy in zip(tensors, staged):
                if copy is not tensor:
                    tensor.copy_(copy)

        return self._run(
            key, lambda name: _core.grouped_allreduce_(
                described, name, reduction.op, reduction.prescale, 1.0, self.core),
            opts, list(tensors), finish, staged)

    def _fold(self, tensor, reduction, opts, outputs, write=None):
        """An allreduce by an op that the library lacks: of the gathered tensors, on every rank."""
        staged = memory.dense(tensor)
        described = memory.described_moved(staged)

        def finish(result):
            rows = memory.elements_of(result, staged).view(self.size(), -1)
            reduced = functools.reduce(reduction.fold, rows)
            (write or (lambda all_of_it: memory.write_elements(tensor, all_of_it)))(reduced)

        return self._run(("all_reduce", reduction.name, described[1:3]),
                         lambda name: _core.allgather(described, name, self.core), opts, outputs,
                         finish, staged)

    def _allreduce_sparse(self, tensor, reduction, opts):
        """Gathers everyone's indices and values. Ranks may have different numbers of them."""
        if reduction.op != ops.Sum:
            raise ValueError(f"horovodpp reduces sparse tensors by SUM, not {reduction.name}")
        mine = tensor.coalesce()
        indices, values = mine.indices().t().contiguous(), mine.values().contiguous()
        if reduction.prescale != 1.0:
            values = values * reduction.prescale
        parts = [memory.described_rows(indices, *indices.shape),
                 memory.described_rows(values, len(values), values.shape[1:].numel())]

        def finish(results):
            all_indices = memory.elements_of(results[0], indices).view(-1, indices.shape[1]).t()
            all_values = memory.elements_of(results[1], values).view(-1, *values.shape[1:])
            tensor.copy_(torch.sparse_coo_tensor(all_indices, all_values, tensor.shape).coalesce())

        key = ("all_reduce", "sparse", parts[1][1], tuple(tensor.shape))
        return self._run(key, lambda name: _core.grouped_allgather(parts, name, self.core), opts,
                         [tensor], finish, (indices, values))

    def reduce(self, tensors, opts):
        tensor, = tensors
        reduction = reduction_of(opts.reduceOp)
        _check(tensor, reduction)
        root = opts.rootRank
        is_root = root == self.rank()
        if reduction.fold:
            return self._fold(tensor, reduction, opts, [tensor],
                              None if is_root else lambda _: None)
        staged = memory.dense(tensor)
        described = memory.described(memory.as_numbers(staged))
        key = ("reduce", root, reduction.name, reduction.prescale, described[1:3])
        return self._run(
            key, lambda name: _core.reduce_(described, self.ranks[root], name, reduction.op,
                                            reduction.prescale, 1.0, self.core),
            opts, [tensor],
            is_root and staged is not tensor and (lambda _: tensor.copy_(staged)), staged)

    def reduce_scatter_single(self, output, source, opts=None):
        """Each rank gets its part of the reduced `source`: one n-th of its elements."""
        opts = opts or self.options.reduce_scatter
        reduction = reduction_of(opts.reduceOp)
        _check(source, reduction)
        if source.numel() != output.numel() * self.size():
            raise ValueError(f"the input must have {self.size()} times the output's elements: "
                             f"{source.numel()} are not {self.size()} * {output.numel()}")
        return self._scatter_reduced(output, memory.dense(source), reduction, opts)

    def _scatter_reduced(self, output, staged, reduction, opts):
        if reduction.fold:
            begin = self.rank() * output.numel()
            return self._fold(staged, reduction, opts, [output],
                              lambda reduced: memory.write_elements(
                                  output, reduced[begin:begin + output.numel()]))
        numbers = memory.as_numbers(staged)
        described = memory.described(numbers)
        key = ("reduce_scatter", reduction.name, reduction.prescale, described[1:3])
        return self._run(
            key, lambda name: _core.reducescatter(described, name, reduction.op,
                                                  reduction.prescale, 1.0, self.core),
            opts, [output],
            lambda result: memory.write(memory.as_numbers(output), result, numbers), staged)

    def reduce_scatter(self, outputs, sources, opts=None):
        opts = opts or self.options.reduce_scatter
        return self._several([self._reduce_scatter_list(output, source, opts)
                              for output, source in zip(outputs, sources)])

    def _reduce_scatter_list(self, output, sources, opts):
        reduction = reduction_of(opts.reduceOp)
        _check(output, reduction)
        if all(source.numel() == output.numel() for source in sources):
            return self._scatter_reduced(output, memory.joined(sources), reduction, opts)
        # Parts of several sizes: all ranks reduce everything.
        mine = sum(source.numel() for source in sources[:self.rank()])
        staged = memory.joined(sources)
        if len(sources) == 1:
            staged = staged.clone()
        if reduction.fold:
            raise ValueError(f"horovodpp reduces parts of several sizes by SUM, AVG, PRODUCT, MIN "
                             f"and MAX, not {reduction.name}")
        described = memory.described(memory.as_numbers(staged))
        key = ("reduce_scatter", "list", reduction.name, reduction.prescale, described[1:3])
        return self._run(
            key, lambda name: _core.allreduce_(described, name, reduction.op, reduction.prescale,
                                               1.0, self.core),
            opts, [output],
            lambda _: memory.write_elements(output, staged[mine:mine + output.numel()]), staged)

    def reduce_scatter_single_coalesced(self, outputs, sources, opts=None):
        opts = opts or self.options.reduce_scatter
        reduction = reduction_of(opts.reduceOp)
        if reduction.fold:
            return self._several([self.reduce_scatter_single(output, source, opts)
                                  for output, source in zip(outputs, sources)])
        numbers = [memory.as_numbers(memory.dense(source)) for source in sources]
        described = [memory.described(source) for source in numbers]
        key = ("reduce_scatter", reduction.name, reduction.prescale, *(d[1:3] for d in described))

        def finish(results):
            for output, result, source in zip(outputs, results, numbers):
                memory.write(memory.as_numbers(output), result, source)

        return self._run(
            key, lambda name: _core.grouped_reducescatter(described, name, reduction.op,
                                                          reduction.prescale, 1.0, self.core),
            opts, list(outputs), finish, numbers)

    # Names of torch before 2.13.
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
