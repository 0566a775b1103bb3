// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/host_plane.h"

#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

void copy(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0 && from != to) std::memcpy(to, from, bytes);
}

void reduce_alone(std::span<const Piece> pieces, const ReduceKernel& kernel) {
  for (const Piece& piece : pieces) {
    kernel.reduce({&piece.input, 1}, piece.output, piece.count);
  }
}

}  // namespace

absl::Status HostPlane::noted(const absl::Status& outcome) {
  if (!absl::IsCancelled(outcome)) failure_ = outcome;
  return outcome;
}

absl::Status HostPlane::merge(std::span<const Piece>, const Reduction&,
                              const Call&) {
  return absl::InternalError(
      absl::StrCat("the ", name(),
                   " plane was asked for an adasum, which it does not have"));
}

// With nothing to move the ranks still meet: OK says that every rank has
// entered the call.
absl::Status HostPlane::allreduce(std::span<const Piece> pieces,
                                  const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check(reduction));
  if (!reduces_by(reduction.op)) {
    return absl::UnimplementedError(
        absl::StrCat("the ", name(), " plane has no ", name_of(reduction.op),
                     "; select a plane for this operation"));
  }
  const ReduceKernel kernel(reduction, ranks_);
  if (ranks_ == 1) {
    reduce_alone(pieces, kernel);
    return absl::OkStatus();
  }
  if (total_count(pieces) == 0) return noted(meet(call));
  if (reduction.op == ReduceOp::kAdasum) {
    return noted(merge(pieces, reduction, call));
  }
  return noted(move(pieces, kernel, call));
}

absl::Status HostPlane::reducescatter(std::span<const Piece> pieces,
                                      std::span<const std::int64_t> counts,
                                      const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check_scattered(reduction));
  HVD_RETURN_IF_ERROR(check_reducescatter(pieces, counts, ranks_));
  const ReduceKernel kernel(reduction, ranks_);
  if (ranks_ == 1) {
    reduce_alone(pieces, kernel);
    return absl::OkStatus();
  }
  if (total_count(pieces) == 0) return noted(meet(call));
  return noted(move(pieces, counts, kernel, call));
}

absl::Status HostPlane::allgather(std::span<const std::byte> mine,
                                  std::span<const std::size_t> bytes_of_rank,
                                  std::byte* output, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(
      check_allgather(mine.size(), bytes_of_rank, rank_, ranks_));
  if (ranks_ == 1) {
    copy(mine.data(), output, mine.size());
    return absl::OkStatus();
  }
  const std::size_t total = std::accumulate(
      bytes_of_rank.begin(), bytes_of_rank.end(), std::size_t{0});
  if (total == 0) return noted(meet(call));
  return noted(move(Gather{mine, bytes_of_rank, output}, call));
}

absl::StatusOr<bool> HostPlane::move(const GatherAlike& gather,
                                     const Call& call) {
  return DataPlane::allgather_alike(gather.mine, gather.bytes_of_rank,
                                    gather.output, call);
}

absl::StatusOr<bool> HostPlane::allgather_alike(
    std::span<const std::byte> mine, std::span<std::size_t> bytes_of_rank,
    std::byte* output, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  if (bytes_of_rank.size() != static_cast<std::size_t>(ranks_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("allgather: there is room for the sizes of ",
                     bytes_of_rank.size(), " ranks, and there are ", ranks_));
  }
  if (ranks_ == 1) {
    bytes_of_rank[0] = mine.size();
    if (output == nullptr) return false;
    copy(mine.data(), output, mine.size());
    return true;
  }
  const absl::StatusOr<bool> outcome =
      move(GatherAlike{mine, bytes_of_rank, output}, call);
  HVD_RETURN_IF_ERROR(noted(outcome.status()));
  return outcome;
}

absl::Status HostPlane::broadcast(const std::byte* input, std::byte* output,
                                  std::size_t bytes, int root, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check_broadcast(root, ranks_));
  // Until all have entered, a call that meets may be given up without a trace.
  const bool is_moved = bytes > 0 && ranks_ > 1;
  const bool is_copied_last = is_moved && meets_in_broadcast();
  if (rank_ == root && !is_copied_last) copy(input, output, bytes);
  if (!is_moved) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(noted(move(Broadcast{input, output, bytes, root}, call)));
  if (rank_ == root && is_copied_last) copy(input, output, bytes);
  return absl::OkStatus();
}

absl::Status HostPlane::alltoall(std::span<const std::byte> input,
                                 std::span<const std::size_t> send_bytes,
                                 std::byte* output,
                                 std::span<const std::size_t> receive_bytes,
                                 Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(
      check_alltoall(input.size(), send_bytes, receive_bytes, rank_, ranks_));
  if (ranks_ == 1) {
    copy(input.data(), output, input.size());
    return absl::OkStatus();
  }
  return noted(move(Exchange{input, send_bytes, output, receive_bytes}, call));
}

absl::StatusOr<bool> HostPlane::move(const ExchangeAlike& exchange,
                                     const Call& call) {
  return DataPlane::alltoall_alike(exchange.input, exchange.sizes,
                                   exchange.output, call);
}

absl::StatusOr<bool> HostPlane::alltoall_alike(std::span<const std::byte> input,
                                               std::span<std::size_t> sizes,
                                               std::byte* output, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  const auto ranks = static_cast<std::size_t>(ranks_);
  if (sizes.size() != ranks * ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("alltoall: there is room for ", sizes.size(),
                     " sizes, and there are ", ranks * ranks));
  }
  const auto sent =
      sizes.subspan(static_cast<std::size_t>(rank_) * ranks, ranks);
  HVD_RETURN_IF_ERROR(check_alltoall(input.size(), sent, sent, rank_, ranks_));
  if (ranks_ == 1) {
    if (output == nullptr) return false;
    copy(input.data(), output, input.size());
    return true;
  }
  const absl::StatusOr<bool> outcome =
      move(ExchangeAlike{input, sizes, output}, call);
  HVD_RETURN_IF_ERROR(noted(outcome.status()));
  return outcome;
}

absl::Status HostPlane::barrier(Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  if (ranks_ == 1) return absl::OkStatus();
  return noted(meet(call));
}

std::vector<std::byte*> HostPlane::Gather::place_mine(int rank) const {
  std::vector<std::byte*> places;
  std::byte* next = output;
  for (const std::size_t bytes : bytes_of_rank) {
    places.push_back(next);
    next += bytes;
  }
  std::byte* const own = places[static_cast<std::size_t>(rank)];
  if (!mine.empty() && own != mine.data()) {
    std::memcpy(own, mine.data(), mine.size());
  }
  return places;
}

}  // namespace hvd::collective
