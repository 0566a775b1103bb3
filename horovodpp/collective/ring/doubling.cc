// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/doubling.h"

#include <bit>
#include <cstring>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// One rank's part in the doubling.
class Doubling {
 public:
  Doubling(const RingTeam& team, std::span<std::byte> mine, ChunkLink& link)
      : team_(team), mine_(mine), link_(link) {}

  absl::Status send_to(int rank) {
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link_.take());
    std::memcpy(slot, mine_.data(), mine_.size());
    return link_.send(number_of(rank), slot, mine_.size());
  }
  absl::Status post_receive(int rank) {
    return link_.post_receive(number_of(rank), mine_.size());
  }
  // The accumulators of the first of the two ranks take in the other's.
  absl::Status merge_with(int rank, std::int64_t count,
                          const ReduceKernel& kernel) {
    HVD_ASSIGN_OR_RETURN(std::byte * theirs, link_.receive());
    if (rank < team_.rank) {
      kernel.merge(theirs, mine_.data(), count);
      std::memcpy(mine_.data(), theirs, mine_.size());
    } else {
      kernel.merge(mine_.data(), theirs, count);
    }
    link_.release(theirs);
    return absl::OkStatus();
  }
  absl::Status take_over() {
    HVD_ASSIGN_OR_RETURN(std::byte * theirs, link_.receive());
    std::memcpy(mine_.data(), theirs, mine_.size());
    link_.release(theirs);
    return absl::OkStatus();
  }

 private:
  int number_of(int rank) const {
    return team_.members[static_cast<std::size_t>(rank)];
  }

  const RingTeam team_;
  const std::span<std::byte> mine_;
  ChunkLink& link_;
};

}  // namespace

absl::Status merge_by_doubling(const RingTeam& team, std::byte* accumulators,
                               std::int64_t count, const ReduceKernel& kernel,
                               ChunkLink& link) {
  const int ranks = team.ranks();
  const int core =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  Doubling part(team,
                {accumulators,
                 static_cast<std::size_t>(count) * kernel.accumulator_bytes()},
                link);
  if (team.rank >= core) {
    HVD_RETURN_IF_ERROR(part.post_receive(team.rank - core));
    HVD_RETURN_IF_ERROR(part.send_to(team.rank - core));
    return part.take_over();
  }
  const int extra = team.rank + core;
  if (extra < ranks) {
    HVD_RETURN_IF_ERROR(part.post_receive(extra));
    HVD_RETURN_IF_ERROR(part.merge_with(extra, count, kernel));
  }
  for (int distance = 1; distance < core; distance *= 2) {
    const int peer = team.rank ^ distance;
    HVD_RETURN_IF_ERROR(part.post_receive(peer));
    HVD_RETURN_IF_ERROR(part.send_to(peer));
    HVD_RETURN_IF_ERROR(part.merge_with(peer, count, kernel));
  }
  return extra < ranks ? part.send_to(extra) : absl::OkStatus();
}

void merge_as_doubling(std::span<std::byte* const> accumulators,
                       std::int64_t count, const ReduceKernel& kernel) {
  const std::size_t ranks = accumulators.size();
  const std::size_t core = std::bit_floor(ranks);
  const auto merge = [&](std::size_t rank, std::size_t other) {
    kernel.merge(accumulators[rank], accumulators[other], count);
  };
  for (std::size_t extra = core; extra < ranks; ++extra) {
    merge(extra - core, extra);
  }
  for (std::size_t distance = 1; distance < core; distance *= 2) {
    for (std::size_t rank = 0; rank < core; rank += 2 * distance) {
      merge(rank, rank + distance);
    }
  }
}

}  // namespace hvd::collective
