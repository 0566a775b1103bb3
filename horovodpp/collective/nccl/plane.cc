// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/plane.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

std::size_t offset_of(std::int64_t elements, const Reduction& reduction) {
  return static_cast<std::size_t>(elements) * size_of(reduction.dtype);
}

const std::byte* bytes_at(const void* memory, std::size_t offset) {
  return static_cast<const std::byte*>(memory) + offset;
}

NcclLine::Factor factor_of(const NcclReduction& how) {
  return {.op = how.op, .type = how.type, .value = how.factor};
}

void add(NcclPlacement& where, std::span<const Piece> pieces, DType dtype) {
  for (const Piece& piece : pieces) {
    const std::size_t bytes = bytes_of(piece, dtype);
    where.add(piece.input, bytes);
    where.add(piece.output, bytes);
  }
}

// The result of a group of calls. ("In progress" is no error.)
NcclResult with(NcclResult before, NcclResult next) {
  const bool was_well = before == kNcclSuccess || before == kNcclInProgress;
  return was_well ? next : before;
}

}  // namespace

absl::Status NcclPlane::noted(const absl::Status& outcome) {
  if (outcome.ok() || absl::IsCancelled(outcome)) return outcome;
  failure_ = outcome;
  line_.abort();
  return outcome;
}

absl::Status NcclPlane::meet(const Call& call) {
  HVD_RETURN_IF_ERROR(failure_);
  if (call.certain) return absl::OkStatus();
  return noted(means_.host.barrier(call));
}

absl::StatusOr<bool> NcclPlane::meet(const NcclPlacement& where, Call& call) {
  if (line_.windows().empty()) {
    HVD_RETURN_IF_ERROR(meet(call));
    return true;
  }
  HVD_RETURN_IF_ERROR(failure_);
  const std::uint64_t mine = where.mark();
  std::vector<std::uint64_t> all(means_.members.size());
  const std::vector<std::size_t> sizes(all.size(), sizeof(mine));
  HVD_RETURN_IF_ERROR(noted(
      means_.host.allgather(std::as_bytes(std::span(&mine, 1)), sizes,
                            reinterpret_cast<std::byte*>(all.data()), call)));
  ++call.tag.sequence;
  call.certain = true;
  return std::all_of(all.begin(), all.end(),
                     [&](std::uint64_t one) { return one == mine; });
}

template <typename What>
absl::Status NcclPlane::elsewhere(const What& what, const Call& call) {
  if (!call.captured) return means_.otherwise.execute(what, call);
  return cannot_be_captured(
      "NCCL cannot run this collective on these tensors, and a graph can only "
      "capture NCCL's (docs/gpu.md); move the call out of the captured step");
}

// All members know whether the graph exists: it is destroyed with its
// communicators, between two calls.
absl::Status NcclPlane::replay(const device::CudaGraph& graph, Call call) {
  if (!line_.is_open()) return DataPlane::replay(graph, call);
  if (graph.is_dropped()) {
    HVD_RETURN_IF_ERROR(call.interrupt.check());
    return absl::UnimplementedError(
        "a process set has been removed since it was captured, and its "
        "connections have gone; capture it anew");
  }
  HVD_RETURN_IF_ERROR(meet(call));
  return noted(line_.launch(graph, call));
}

absl::Status NcclPlane::check_memory(const void* memory,
                                     const Call& call) const {
  std::optional<int> gpu = call.gpu;
  if (!gpu) {
    HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda,
                         means_.session.gpus().driver());
    HVD_ASSIGN_OR_RETURN(gpu, cuda->device_of(memory));
  }
  if (*gpu == line_.gpu()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "a tensor is on cuda:", *gpu, ", and NCCL connects cuda:", line_.gpu(),
      " of this rank to the GPUs of the others; keep the tensors of a process "
      "set on one GPU, or set HOROVOD_GPU_OPERATIONS=MPI"));
}

absl::Status NcclPlane::allreduce_packed(std::span<const Piece> pieces,
                                         const NcclReduction& how, DType dtype,
                                         const Call& call) {
  NcclPacking::Packed packed;
  const auto pack = [&](device::CudaStream& stream) -> absl::Status {
    HVD_ASSIGN_OR_RETURN(packed,
                         packing_->pack(stream, pieces, dtype, how.factor));
    return absl::OkStatus();
  };
  const auto unpack = [&](device::CudaStream& stream) {
    return packing_->unpack(stream, pieces, dtype, packed);
  };
  const auto reduce = [&](const NcclInto& into) {
    return into.nccl.ncclAllReduce(packed.memory, packed.memory,
                                   packed.elements, how.type, how.op, into.comm,
                                   into.stream);
  };
  return line_.put_between("an allreduce", call,
                           {.before = pack,
                            .after = unpack,
                            .operations = NcclPacking::operations(pieces)},
                           reduce);
}

absl::Status NcclPlane::serve(const Allreduce& what, Call call) {
  std::span<const Piece> pieces = what.pieces;
  const Reduction& reduction = what.reduction;
  HVD_RETURN_IF_ERROR(check(what, means_.rank, ranks()));
  const auto how = nccl_reduction(reduction, ranks());
  if (!how || !goes_here(means_.session.options().use.allreduce, call)) {
    return elsewhere(what, call);
  }
  NcclPlacement where(line_.windows());
  add(where, pieces, reduction.dtype);
  HVD_ASSIGN_OR_RETURN(const bool is_alike, meet(where, call));
  if (total_count(pieces) == 0) return absl::OkStatus();
  for (const Piece& piece : pieces) {
    if (piece.count > 0) HVD_RETURN_IF_ERROR(check_memory(piece.output, call));
  }
  const bool may_pack = packing_ != nullptr && !call.captured;
  const bool stays = is_alike && where.is_within();
  if (may_pack &&
      (!is_alike || (!stays && NcclPacking::is_for(pieces, reduction.dtype)))) {
    return noted(allreduce_packed(pieces, *how, reduction.dtype, call));
  }
  if (!is_alike) return elsewhere(what, call);
  const std::vector<Piece> joined =
      stays ? line_.windows().joined(pieces, reduction.dtype)
            : std::vector<Piece>();
  if (stays) pieces = joined;
  return noted(line_.put_reduction(
      "an allreduce", call, factor_of(*how),
      [&](const NcclInto& into, NcclOp op) {
        NcclResult result = kNcclSuccess;
        for (const Piece& piece : pieces) {
          if (piece.count == 0) continue;
          result = with(result, into.nccl.ncclAllReduce(
                                    piece.input, piece.output,
                                    static_cast<std::size_t>(piece.count),
                                    how->type, op, into.comm, into.stream));
        }
        return result;
      }));
}

absl::Status NcclPlane::serve(const Reducescatter& what, Call call) {
  const auto& pieces = what.pieces;
  const auto& counts = what.counts;
  const Reduction& reduction = what.reduction;
  HVD_RETURN_IF_ERROR(check(what, means_.rank, ranks()));
  const auto how = nccl_reduction(reduction, ranks());
  if (!how || !goes_here(means_.session.options().use.reducescatter, call)) {
    return elsewhere(what, call);
  }
  NcclPlacement where(line_.windows());
  const auto n = static_cast<std::size_t>(ranks());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const std::int64_t mine =
        counts[p * n + static_cast<std::size_t>(means_.rank)];
    where.add(pieces[p].input, offset_of(pieces[p].count, reduction));
    where.add(pieces[p].output, offset_of(mine, reduction));
  }
  HVD_ASSIGN_OR_RETURN(const bool is_alike, meet(where, call));
  if (!is_alike) return elsewhere(what, call);
  if (total_count(pieces) == 0) return absl::OkStatus();
  for (const Piece& piece : pieces) {
    if (piece.count > 0) HVD_RETURN_IF_ERROR(check_memory(piece.input, call));
  }
  return noted(line_.put_reduction(
      "a reducescatter", call, factor_of(*how),
      [&](const NcclInto& into, NcclOp op) {
        NcclResult result = kNcclSuccess;
        for (std::size_t p = 0; p < pieces.size(); ++p) {
          const auto parts = counts.subspan(p * n, n);
          const bool is_even =
              std::equal(parts.begin() + 1, parts.end(), parts.begin());
          if (pieces[p].count == 0) continue;
          if (is_even) {
            result = with(result, into.nccl.ncclReduceScatter(
                                      pieces[p].input, pieces[p].output,
                                      static_cast<std::size_t>(parts[0]),
                                      how->type, op, into.comm, into.stream));
            continue;
          }
          std::int64_t before = 0;
          for (int root = 0; root < ranks(); ++root) {
            const std::int64_t count = parts[static_cast<std::size_t>(root)];
            if (count == 0) continue;
            result = with(
                result,
                into.nccl.ncclReduce(
                    bytes_at(pieces[p].input, offset_of(before, reduction)),
                    pieces[p].output, static_cast<std::size_t>(count),
                    how->type, op, root, into.comm, into.stream));
            before += count;
          }
        }
        return result;
      }));
}

absl::Status NcclPlane::serve(const Allgather& what, Call call) {
  const auto& mine = what.mine;
  const auto& bytes_of_rank = what.bytes_of_rank;
  std::byte* const output = what.output;
  HVD_RETURN_IF_ERROR(check(what, means_.rank, ranks()));
  if (!goes_here(means_.session.options().use.allgather, call)) {
    return elsewhere(what, call);
  }
  NcclPlacement where(line_.windows());
  where.add(mine.data(), mine.size());
  where.add(output, sum_of(bytes_of_rank));
  HVD_ASSIGN_OR_RETURN(const bool is_alike, meet(where, call));
  if (!is_alike) return elsewhere(what, call);
  const auto is_empty = [](std::size_t bytes) { return bytes == 0; };
  if (std::all_of(bytes_of_rank.begin(), bytes_of_rank.end(), is_empty)) {
    return absl::OkStatus();
  }
  HVD_RETURN_IF_ERROR(check_memory(output, call));
  const bool is_even = std::equal(bytes_of_rank.begin() + 1,
                                  bytes_of_rank.end(), bytes_of_rank.begin());
  return noted(line_.put("an allgather", call, [&](const NcclInto& into) {
    if (is_even) {
      return into.nccl.ncclAllGather(mine.data(), output, mine.size(),
                                     kNcclUint8, into.comm, into.stream);
    }
    NcclResult result = kNcclSuccess;
    std::byte* place = output;
    for (int root = 0; root < ranks(); ++root) {
      const std::size_t bytes = bytes_of_rank[static_cast<std::size_t>(root)];
      if (bytes == 0) continue;
      result =
          with(result, into.nccl.ncclBroadcast(
                           root == means_.rank ? mine.data() : place, place,
                           bytes, kNcclUint8, root, into.comm, into.stream));
      place += bytes;
    }
    return result;
  }));
}

absl::Status NcclPlane::serve(const Broadcast& what, Call call) {
  const std::byte* const input = what.input;
  std::byte* const output = what.output;
  const std::size_t bytes = what.bytes;
  const int root = what.root;
  HVD_RETURN_IF_ERROR(check(what, means_.rank, ranks()));
  if (!goes_here(means_.session.options().use.broadcast, call)) {
    return elsewhere(what, call);
  }
  NcclPlacement where(line_.windows());
  where.add(root == means_.rank ? input : output, bytes);
  where.add(output, bytes);
  HVD_ASSIGN_OR_RETURN(const bool is_alike, meet(where, call));
  if (!is_alike) return elsewhere(what, call);
  if (bytes == 0) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(check_memory(output, call));
  return noted(line_.put("a broadcast", call, [&](const NcclInto& into) {
    return into.nccl.ncclBroadcast(root == means_.rank ? input : output, output,
                                   bytes, kNcclUint8, root, into.comm,
                                   into.stream);
  }));
}

// The members meet by exchanging the sent and expected sizes, because NCCL
// would not notice a difference.
absl::StatusOr<bool> NcclPlane::check_sizes(
    std::span<const std::size_t> send_bytes,
    std::span<const std::size_t> receive_bytes, const NcclPlacement& where,
    Call& call) {
  HVD_RETURN_IF_ERROR(failure_);
  const std::size_t n = send_bytes.size();
  const std::size_t row = 2 * n + 1;
  std::vector<std::uint64_t> mine(send_bytes.begin(), send_bytes.end());
  mine.insert(mine.end(), receive_bytes.begin(), receive_bytes.end());
  mine.push_back(where.mark());
  std::vector<std::uint64_t> all(n * row);
  const std::vector<std::size_t> sizes(n, row * sizeof(std::uint64_t));
  HVD_RETURN_IF_ERROR(noted(
      means_.host.allgather(std::as_bytes(std::span(mine)), sizes,
                            reinterpret_cast<std::byte*>(all.data()), call)));
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      const std::uint64_t sent = all[from * row + to];
      const std::uint64_t expected = all[to * row + n + from];
      if (sent == expected) continue;
      return noted(absl::InvalidArgumentError(
          absl::StrCat("alltoall: rank ", from, " sends rank ", to, " ", sent,
                       " bytes, which expects ", expected)));
    }
  }
  ++call.tag.sequence;
  call.certain = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (all[i * row + 2 * n] != where.mark()) return false;
  }
  return true;
}

absl::Status NcclPlane::serve(const Alltoall& what, Call call) {
  const auto& input = what.input;
  const auto& send_bytes = what.send_bytes;
  const auto& receive_bytes = what.receive_bytes;
  std::byte* const output = what.output;
  HVD_RETURN_IF_ERROR(check(what, means_.rank, ranks()));
  if (!goes_here(means_.session.options().use.alltoall, call)) {
    return elsewhere(what, call);
  }
  NcclPlacement where(line_.windows());
  where.add(input.data(), input.size());
  where.add(output, sum_of(receive_bytes));
  HVD_ASSIGN_OR_RETURN(const bool is_alike,
                       check_sizes(send_bytes, receive_bytes, where, call));
  if (!is_alike) return elsewhere(what, call);
  const auto is_empty = [](std::size_t bytes) { return bytes == 0; };
  if (input.empty() &&
      std::all_of(receive_bytes.begin(), receive_bytes.end(), is_empty)) {
    return absl::OkStatus();
  }
  HVD_RETURN_IF_ERROR(
      check_memory(input.empty() ? output : input.data(), call));
  return noted(line_.put("an alltoall", call, [&](const NcclInto& into) {
    NcclResult result = kNcclSuccess;
    const std::byte* from = input.data();
    std::byte* to = output;
    for (int peer = 0; peer < ranks(); ++peer) {
      const auto i = static_cast<std::size_t>(peer);
      if (send_bytes[i] > 0) {
        result =
            with(result, into.nccl.ncclSend(from, send_bytes[i], kNcclUint8,
                                            peer, into.comm, into.stream));
      }
      if (receive_bytes[i] > 0) {
        result =
            with(result, into.nccl.ncclRecv(to, receive_bytes[i], kNcclUint8,
                                            peer, into.comm, into.stream));
      }
      from += send_bytes[i];
      to += receive_bytes[i];
    }
    return result;
  }));
}

}  // namespace hvd::collective
