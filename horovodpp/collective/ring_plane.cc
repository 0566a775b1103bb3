#include "horovodpp/collective/ring_plane.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/chunk_link.h"
#include "horovodpp/collective/ring_circuit.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// A slot holds one accumulator of any type.
constexpr std::size_t kLeastChunk = 64;

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int position_of(int rank, const std::vector<int>& members) {
  const auto place = std::find(members.begin(), members.end(), rank);
  return static_cast<int>(place - members.begin());
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
               std::max(kLeastChunk, options.chunk_bytes)),
      ring_({.rank = rank(),
             .ranks = ranks(),
             .depth = staging_.slots() / 2,
             .slot_bytes = staging_.slot_bytes()}) {}

RingPlane::RingPlane(transport::Communicator& communicator,
                     const transport::WaitPolicy& waiting,
                     const RingOptions& options)
    : RingPlane(communicator, all_ranks(communicator.size()), waiting,
                options) {}

int RingPlane::member(int distance) const {
  const int position = (rank() + distance) % ranks();
  return members_[static_cast<std::size_t>(position)];
}

absl::Status RingPlane::run(
    const Call& call, const std::function<absl::Status(ChunkLink&)>& body) {
  HVD_RETURN_IF_ERROR(staging_.map());
  ChunkLink link(communicator_, staging_, call, waiting_);
  HVD_RETURN_IF_ERROR(body(link));
  return link.flush();
}

// No result is finished before all ranks have contributed to it, so outputs are
// left alone while one may be missing.
absl::Status RingPlane::move(std::span<const Piece> pieces,
                             const ReduceKernel& kernel, const Call& call) {
  return run(call, [&](ChunkLink& link) {
    AllreduceFlow flow(ring_, pieces, kernel);
    return circulate(seat(), flow, link);
  });
}

// A rank that gets no result would not notice that another one is missing.
absl::Status RingPlane::move(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const ReduceKernel& kernel, const Call& call) {
  const PartTable parts(counts, ranks());
  return run(call, [&](ChunkLink& link) {
    if (parts.leaves_out_a_rank() && !call.certain) {
      HVD_RETURN_IF_ERROR(disseminate(link));
    }
    ReducescatterFlow flow(ring_, pieces, parts, kernel);
    return circulate(seat(), flow, link);
  });
}

// The parts of those who have come could arrive while another one is missing.
absl::Status RingPlane::move(const Gather& gather, const Call& call) {
  return run(call, [&](ChunkLink& link) {
    if (!call.certain) HVD_RETURN_IF_ERROR(disseminate(link));
    const std::vector<std::byte*> places = gather.place_mine(rank());
    AllgatherFlow flow(ring_, gather.mine, gather.bytes_of_rank, places);
    return circulate(seat(), flow, link);
  });
}

absl::Status RingPlane::meet(const Call& call) {
  return run(call, [&](ChunkLink& link) { return disseminate(link); });
}

absl::Status RingPlane::disseminate(ChunkLink& link) {
  for (int distance = 1; distance < ranks(); distance *= 2) {
    HVD_RETURN_IF_ERROR(link.post_receive(member(ranks() - distance), 1));
    HVD_ASSIGN_OR_RETURN(std::byte * token, link.take());
    *token = std::byte{1};
    HVD_RETURN_IF_ERROR(link.send(member(distance), token, 1));
    HVD_ASSIGN_OR_RETURN(std::byte * answer, link.receive());
    link.release(answer);
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
