// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/host_plane.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

using Bytes = std::vector<std::byte>;
using Sizes = std::vector<std::size_t>;

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0 && from != to) std::memcpy(to, from, bytes);
}

// A call of a single rank.
void make_alone(std::span<const Piece> pieces, const Reduction& reduction) {
  const ReduceKernel kernel(reduction, 1);
  for (const Piece& piece : pieces) {
    kernel.reduce({&piece.input, 1}, piece.output, piece.count);
  }
}
void make_alone(const Allreduce& what) {
  make_alone(what.pieces, what.reduction);
}
void make_alone(const Reducescatter& what) {
  make_alone(what.pieces, what.reduction);
}
void make_alone(const Allgather& what) {
  copy_bytes(what.mine.data(), what.output, what.mine.size());
}
void make_alone(const Broadcast& what) {
  copy_bytes(what.input, what.output, what.bytes);
}
void make_alone(const Alltoall& what) {
  copy_bytes(what.input.data(), what.output, what.input.size());
}
void make_alone(const Barrier&) {}

// These return whether there was an output.
bool make_alone(const AllgatherAlike& what) {
  what.bytes_of_rank[0] = what.mine.size();
  if (what.output == nullptr) return false;
  copy_bytes(what.mine.data(), what.output, what.mine.size());
  return true;
}
bool make_alone(const AlltoallAlike& what) {
  if (what.output == nullptr) return false;
  copy_bytes(what.input.data(), what.output, what.input.size());
  return true;
}

}  // namespace

absl::Status HostPlane::noted(const absl::Status& outcome) {
  if (!absl::IsCancelled(outcome)) failure_ = outcome;
  return outcome;
}

template <typename What>
absl::Status HostPlane::refusal_of(const What& what) const {
  HVD_RETURN_IF_ERROR(failure_);
  return check(what, rank_, ranks_);
}

absl::Status HostPlane::refusal_of(const Allreduce& what) const {
  HVD_RETURN_IF_ERROR(refusal_of<Allreduce>(what));
  if (reduces_by(what.reduction.op)) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("the ", name(), " plane has no ", name_of(what.reduction.op),
                   "; select a plane for this operation"));
}

template <typename What>
absl::Status HostPlane::serve(const What& what, const Call& call) {
  HVD_RETURN_IF_ERROR(refusal_of(what));
  if (ranks_ > 1) return noted(between_ranks(what, call));
  make_alone(what);
  return absl::OkStatus();
}

template absl::Status HostPlane::serve(const Allreduce&, const Call&);
template absl::Status HostPlane::serve(const Reducescatter&, const Call&);
template absl::Status HostPlane::serve(const Allgather&, const Call&);
template absl::Status HostPlane::serve(const Broadcast&, const Call&);
template absl::Status HostPlane::serve(const Alltoall&, const Call&);
template absl::Status HostPlane::serve(const Barrier&, const Call&);

template <typename What>
absl::StatusOr<bool> HostPlane::serve_alike(const What& what,
                                            const Call& call) {
  HVD_RETURN_IF_ERROR(refusal_of(what));
  if (ranks_ == 1) return make_alone(what);
  const absl::StatusOr<bool> outcome = move(what, call);
  HVD_RETURN_IF_ERROR(noted(outcome.status()));
  return outcome;
}

absl::StatusOr<bool> HostPlane::execute(const AllgatherAlike& what, Call call) {
  return serve_alike(what, call);
}
absl::StatusOr<bool> HostPlane::execute(const AlltoallAlike& what, Call call) {
  return serve_alike(what, call);
}

// With nothing to move the ranks still meet: OK says that every rank has
// entered the call.
absl::Status HostPlane::between_ranks(const Allreduce& what, const Call& call) {
  if (total_count(what.pieces) == 0) return meet(call);
  if (describe(what.reduction.op).whole_tensors) {
    return merge(what.pieces, what.reduction, call);
  }
  return move(what.pieces, ReduceKernel(what.reduction, ranks_), call);
}

absl::Status HostPlane::between_ranks(const Reducescatter& what,
                                      const Call& call) {
  if (total_count(what.pieces) == 0) return meet(call);
  return move(what.pieces, what.counts, ReduceKernel(what.reduction, ranks_),
              call);
}

absl::Status HostPlane::between_ranks(const Allgather& what, const Call& call) {
  return sum_of(what.bytes_of_rank) == 0 ? meet(call) : move(what, call);
}

absl::Status HostPlane::between_ranks(const Broadcast& what, const Call& call) {
  const auto copy_on_root = [&] {
    if (rank_ == what.root) copy_bytes(what.input, what.output, what.bytes);
  };
  if (what.bytes == 0) return absl::OkStatus();
  // Until all have entered, a call that meets may be given up without a trace.
  if (!meets_in_broadcast()) copy_on_root();
  HVD_RETURN_IF_ERROR(move(what, call));
  if (meets_in_broadcast()) copy_on_root();
  return absl::OkStatus();
}

absl::Status HostPlane::between_ranks(const Alltoall& what, const Call& call) {
  return move(what, call);
}

absl::Status HostPlane::between_ranks(const Barrier&, const Call& call) {
  return meet(call);
}

absl::Status HostPlane::merge(std::span<const Piece>, const Reduction&,
                              const Call&) {
  return absl::InternalError(
      absl::StrCat("the ", name(),
                   " plane was asked for an adasum, which it does not have"));
}

absl::StatusOr<bool> HostPlane::move(const AllgatherAlike& what,
                                     const Call& call) {
  return DataPlane::execute(what, call);
}
absl::StatusOr<bool> HostPlane::move(const AlltoallAlike& what,
                                     const Call& call) {
  return DataPlane::execute(what, call);
}

// The results of an allreduce, of which this rank keeps its part.
absl::Status HostPlane::move(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const ReduceKernel& kernel, const Call& call) {
  const std::size_t size = kernel.element_bytes();
  std::vector<Bytes> results;
  std::vector<Piece> wholes(pieces.begin(), pieces.end());
  for (Piece& piece : wholes) {
    results.emplace_back(static_cast<std::size_t>(piece.count) * size);
    piece.output = results.back().data();
  }
  HVD_RETURN_IF_ERROR(move(wholes, kernel, call));
  const auto ranks = static_cast<std::size_t>(ranks_);
  const auto mine = static_cast<std::size_t>(rank_);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto parts = counts.subspan(p * ranks, ranks);
    std::int64_t before = 0;
    for (const std::int64_t part : parts.first(mine)) before += part;
    copy_bytes(results[p].data() + static_cast<std::size_t>(before) * size,
               static_cast<std::byte*>(pieces[p].output),
               static_cast<std::size_t>(parts[mine]) * size);
  }
  return absl::OkStatus();
}

// An alltoall in which each rank sends all others its part, and a byte before
// it. So no rank returns before all have entered, and only then writes.
absl::Status HostPlane::move(const Allgather& what, const Call& call) {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const Sizes sent(ranks, 1 + what.mine.size());
  Bytes input;
  for (std::size_t r = 0; r < ranks; ++r) {
    input.push_back(std::byte{1});
    input.insert(input.end(), what.mine.begin(), what.mine.end());
  }
  Sizes received(what.bytes_of_rank.begin(), what.bytes_of_rank.end());
  for (std::size_t& bytes : received) ++bytes;
  Bytes output(sum_of(received));
  HVD_RETURN_IF_ERROR(
      move(Alltoall{input, sent, output.data(), received}, call));
  const std::byte* from = output.data();
  std::byte* to = what.output;
  for (const std::size_t bytes : what.bytes_of_rank) {
    copy_bytes(from + 1, to, bytes);
    from += 1 + bytes;
    to += bytes;
  }
  return absl::OkStatus();
}

// An alltoall in which only the root sends.
absl::Status HostPlane::move(const Broadcast& what, const Call& call) {
  const auto root = static_cast<std::size_t>(what.root);
  Sizes sent(static_cast<std::size_t>(ranks_), 0);
  Sizes received = sent;
  Bytes input;
  if (rank_ != what.root) {
    received[root] = what.bytes;
  } else {
    sent.assign(sent.size(), what.bytes);
    sent[root] = 0;
    for (int r = 1; r < ranks_; ++r) {
      input.insert(input.end(), what.input, what.input + what.bytes);
    }
  }
  return move(Alltoall{input, sent, what.output, received}, call);
}

// An alltoall of a byte for each rank.
absl::Status HostPlane::meet(const Call& call) {
  const Sizes sizes(static_cast<std::size_t>(ranks_), 1);
  const Bytes input(sizes.size());
  Bytes output(sizes.size());
  return move(Alltoall{input, sizes, output.data(), sizes}, call);
}

}  // namespace hvd::collective
