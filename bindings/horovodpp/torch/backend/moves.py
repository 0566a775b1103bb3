# SPDX-License-Identifier: Apache-2.0
"""The collectives of a group that only move elements: broadcast, allgather, gather, scatter and
alltoall; and barrier."""
import torch

from horovodpp import _core
from horovodpp.common import ops
from horovodpp.torch.backend import memory


class Moves:
    """A part of ProcessGroup; see group.py for _run()."""

    def broadcast(self, tensors, opts=None):
        opts = opts or self.options.broadcast
        if isinstance(tensors, torch.Tensor):
            tensors = [tensors]
        if len(tensors) != 1:
            return self._several([self.broadcast([tensor], opts) for tensor in tensors])
        tensor, = tensors
        root = opts.rootRank
        if tensor.is_sparse:
            raise ValueError("horovodpp does not broadcast sparse tensors: broadcast their "
                             "indices and values")
        staged = memory.dense(tensor)
        described = memory.described_moved(staged)
        return self._run(
            ("broadcast", root, described[1:3]),
            lambda name: _core.broadcast_(described, self.ranks[root], name, self.core), opts,
            tensors, staged is not tensor and (lambda _: tensor.copy_(staged)), staged)

    def all_gather_single(self, output, source, opts=None):
        """`output` becomes the elements of all ranks' sources, one behind the other."""
        opts = opts or self.options.allgather
        if output.numel() != source.numel() * self.size():
            raise ValueError(f"the output must have {self.size()} times the input's elements: "
                             f"{output.numel()} are not {self.size()} * {source.numel()}")
        return self._gather_all(source, opts, [output],
                                lambda result: memory.write(output, result, source),
                                source.numel())

    def _gather_all(self, source, opts, outputs, write, size):
        staged = memory.dense(source)
        described = memory.described_moved(staged)
        return self._run(("all_gather", described[1], size),
                         lambda name: _core.allgather(described, name, self.core), opts, outputs,
                         write, staged)

    def allgather(self, outputs, sources, opts=None):
        """outputs[i] becomes the list of all ranks' sources[i], which may differ in size."""
        opts = opts or self.options.allgather
        return self._several([self._gather_list(output, source, opts)
                              for output, source in zip(outputs, sources)])

    def _gather_list(self, outputs, source, opts):
        if outputs[self.rank()].numel() != source.numel():
            raise ValueError(f"output {self.rank()} has {outputs[self.rank()].numel()} elements, "
                             f"but the input of this rank has {source.numel()}")
        return self._gather_all(source, opts, list(outputs),
                                lambda result: memory.write_parts(
                                    outputs, memory.elements_of(result, source)),
                                tuple(output.numel() for output in outputs))

    def allgather_coalesced(self, outputs, sources, opts=None):
        """outputs[r] becomes the list of the sources of rank r."""
        opts = opts or self.options.allgather
        return self._several([self._gather_list(list(output), source, opts)
                              for output, source in zip(zip(*outputs), sources)])

    def all_gather_single_coalesced(self, outputs, sources, opts=None):
        opts = opts or self.options.allgather
        staged = [memory.dense(source) for source in sources]
        described = [memory.described_moved(source) for source in staged]

        def finish(results):
            for output, result, source in zip(outputs, results, staged):
                memory.write(output, result, source)

        return self._run(("all_gather", *(d[1:3] for d in described)),
                         lambda name: _core.grouped_allgather(described, name, self.core), opts,
                         list(outputs), finish, staged)

    def gather(self, outputs, sources, opts):
        """The root's outputs become the sources of all ranks."""
        source, = sources
        root = opts.rootRank
        is_root = root == self.rank()
        parts = outputs[0] if is_root else []
        staged = memory.dense(source)
        described = memory.described_rows(staged, 1, staged.numel())
        return self._run(
            ("gather", root, described[1:3]),
            lambda name: _core.gather(described, self.ranks[root], name, self.core), opts,
            list(parts), is_root and (lambda result: memory.write_parts(
                parts, memory.elements_of(result, staged))), staged)

    def scatter(self, outputs, sources, opts):
        """Each rank's output becomes its part of the root's list."""
        output, = outputs
        root = opts.rootRank
        if root == self.rank():
            staged = memory.joined(sources[0])
            described = memory.described_rows(staged, self.size(), output.numel())
        else:
            staged = output
            described = memory.described_rows(output, 0, output.numel())
        return self._run(
            ("scatter", root, described[1], described[2][1]),
            lambda name: _core.scatter(described, self.ranks[root], [], name, self.core), opts,
            [output], lambda result: memory.write(output, result, output), staged)

    def all_to_all_single(self, output, source, output_splits, source_splits, opts=None):
        """Rank r gets source_splits[r] rows of `source`; without splits, equal parts."""
        opts = opts or self.options.alltoall
        splits = [self._checked(tensor, given) for tensor, given in (
            (output, output_splits), (source, source_splits))]
        row = source.shape[1:].numel()
        staged = memory.dense(source)
        described = memory.described_rows(staged, len(source), row)
        return self._exchange(described, splits[1], opts, [output],
                              lambda result: memory.write(output, result[0], staged), staged)

    def _checked(self, tensor, splits):
        rows = tensor.shape[0]
        if splits:
            if len(splits) != self.size() or sum(splits) != rows:
                raise ValueError(f"Split sizes doesn't match total dim 0 size: {list(splits)} for "
                                 f"{rows} rows and {self.size()} ranks")
            return list(splits)
        if rows % self.size():
            raise ValueError(f"Tensor's dim 0 does not divide equally across group size: {rows} "
                             f"rows, {self.size()} ranks")
        return [rows // self.size()] * self.size()

    def alltoall(self, outputs, sources, opts=None):
        """outputs[r] becomes what rank r has in its sources for this rank."""
        opts = opts or self.options.alltoall
        staged = memory.joined(sources)
        described = memory.described_rows(staged, staged.numel(), 1)
        return self._exchange(described, [source.numel() for source in sources], opts,
                              list(outputs),
                              lambda result: memory.write_parts(
                                  outputs, memory.elements_of(result[0], staged)), staged)

    def _exchange(self, described, splits, opts, outputs, write, staged):
        return self._run(("all_to_all", described[1], described[2][1]),
                         lambda name: _core.alltoall(described, splits, name, self.core), opts,
                         outputs, write, staged)

    def barrier(self, opts=None):
        opts = opts or self.options.barrier
        # Barriers in flight may share the memory: each writes the zero that is there.
        return self._run(("barrier",), lambda name: _core.allreduce_(
            self._zero_described, name, ops.Max, 1.0, 1.0, self.core), opts, [self._zero])

    # Names of torch before 2.13.
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    alltoall_base = all_to_all_single
