// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/plane.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/circuit.h"
#include "horovodpp/collective/ring/direct_flow.h"
#include "horovodpp/collective/ring/team.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// A slot holds one accumulator of any type.
constexpr std::size_t kMinChunk = 64;

int position_of(int rank, const std::vector<int>& members) {
  const auto place = std::find(members.begin(), members.end(), rank);
  return static_cast<int>(place - members.begin());
}

// The pieces of a reducescatter, cut and sorted by the ranks that get them.
struct Shares {
  std::vector<Piece> pieces = {};
  std::vector<Range> of_rank = {};
  bool leave_out_a_rank = false;
};

Shares share_out(std::span<const Piece> pieces,
                 std::span<const std::int64_t> counts, const DirectShape& shape,
                 std::size_t element_bytes) {
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  std::vector<std::size_t> skipped(pieces.size());  // Bytes of each.
  Shares shares;
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const bool mine = r == static_cast<std::size_t>(shape.rank);
    std::int64_t all = 0;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const std::int64_t count = counts[p * ranks + r];
      if (count == 0) continue;
      shares.pieces.push_back(
          {.input = static_cast<const std::byte*>(pieces[p].input) + skipped[p],
           .output = mine ? pieces[p].output : nullptr,
           .count = count});
      skipped[p] += static_cast<std::size_t>(count) * element_bytes;
      all += count;
    }
    shares.of_rank.push_back({begin, all});
    shares.leave_out_a_rank |= all == 0;
    begin += all;
  }
  return shares;
}

absl::Status check_members(int rank, const std::vector<int>& members) {
  if (std::find(members.begin(), members.end(), rank) != members.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", rank, " is not among the members of this ring"));
}

}  // namespace

RingPlane::RingPlane(transport::Communicator& communicator,
                     std::vector<int> members,
                     const transport::WaitPolicy& waiting,
                     const RingOptions& options)
    : HostPlane(position_of(communicator.rank(), members),
                static_cast<int>(members.size()),
                check_members(communicator.rank(), members)),
      communicator_(communicator),
      members_(std::move(members)),
      waiting_(waiting),
      staging_(2 * std::max(1, options.depth),
               std::max(kMinChunk, options.chunk_bytes)),
      direct_staging_(direct_staging(
          ranks(),
          static_cast<std::size_t>(staging_.slots()) * staging_.slot_bytes(),
          staging_.slot_bytes())),
      ring_({.rank = rank(),
             .ranks = ranks(),
             .depth = staging_.slots() / 2,
             .slot_bytes = staging_.slot_bytes()}) {}

RingPlane::RingPlane(transport::Communicator& communicator,
                     const transport::WaitPolicy& waiting,
                     const RingOptions& options)
    : RingPlane(communicator, all_ranks(communicator.size()), waiting,
                options) {}

absl::Status RingPlane::run(const Call& call, Staging& staging,
                            const Body& body) {
  HVD_RETURN_IF_ERROR(staging.map());
  ChunkLink link(communicator_, staging, call, waiting_);
  HVD_RETURN_IF_ERROR(body(link));
  return link.flush();
}

// No result is finished before all ranks have contributed to it, so outputs are
// unchanged while a rank may be missing.
absl::Status RingPlane::move(std::span<const Piece> pieces,
                             const ReduceKernel& kernel, const Call& call) {
  const std::vector<Range> needs(static_cast<std::size_t>(ranks()),
                                 {0, total_count(pieces)});
  return run(call, direct_staging_, [&](ChunkLink& link) {
    TensorFlow flow(direct_seat().shape(), pieces, needs, kernel);
    return exchange_directly(direct_seat(), flow, link);
  });
}

// Meet first: a rank that has nothing to reduce and gets no result would not
// notice a missing rank.
absl::Status RingPlane::move(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const ReduceKernel& kernel, const Call& call) {
  const Shares shares =
      share_out(pieces, counts, direct_seat().shape(), kernel.element_bytes());
  const bool may_notice_nothing =
      shares.leave_out_a_rank && total_count(pieces) < ranks();
  return run(call, direct_staging_, [&](ChunkLink& link) {
    if (may_notice_nothing && !call.certain) {
      HVD_RETURN_IF_ERROR(disseminate(team(), link));
    }
    TensorFlow flow(direct_seat().shape(), shares.pieces, shares.of_rank,
                    kernel);
    return exchange_directly(direct_seat(), flow, link);
  });
}

// Meet first: the parts of the present ranks could arrive while another one is
// missing.
absl::Status RingPlane::move(const Allgather& gather, const Call& call) {
  return run(call, [&](ChunkLink& link) {
    if (!call.certain) HVD_RETURN_IF_ERROR(disseminate(team(), link));
    const std::vector<std::byte*> places = gather.place_mine(rank());
    return circulate(seat(), {gather.mine, gather.bytes_of_rank, places}, link);
  });
}

absl::Status RingPlane::move(const Broadcast& broadcast, const Call& call) {
  return run(call, [&](ChunkLink& link) {
    return broadcast_on(team(), broadcast, link);
  });
}

absl::Status RingPlane::move(const Alltoall& exchange, const Call& call) {
  return run(call, [&](ChunkLink& link) {
    return alltoall_on(team(), exchange, link);
  });
}

absl::Status RingPlane::meet(const Call& call) {
  return run(call, [&](ChunkLink& link) { return disseminate(team(), link); });
}

}  // namespace hvd::collective
