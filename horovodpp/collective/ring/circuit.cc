// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/circuit.h"

#include <algorithm>
#include <cstring>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

std::int64_t rounds_of(const RingShape& shape, const RingGather& gather) {
  const std::size_t per_round =
      static_cast<std::size_t>(shape.depth) * shape.slot_bytes;
  const std::size_t most = *std::max_element(gather.bytes_of_rank.begin(),
                                             gather.bytes_of_rank.end());
  return static_cast<std::int64_t>((most + per_round - 1) / per_round);
}

}  // namespace

RingCircuit::RingCircuit(const RingSeat& seat, const RingGather& gather,
                         ChunkLink& link)
    : seat_(seat),
      gather_(gather),
      link_(link),
      per_round_(std::int64_t{seat.shape.ranks - 1} * seat.shape.depth),
      total_(rounds_of(seat.shape, gather) * per_round_) {}

RingCircuit::Chunk RingCircuit::chunk_of(std::size_t segment,
                                         std::int64_t round, int chunk) const {
  const auto before =
      static_cast<std::size_t>(round * seat_.shape.depth + chunk);
  const std::size_t all = gather_.bytes_of_rank[segment];
  const std::size_t begin = before * seat_.shape.slot_bytes;
  return {
      .segment = segment,
      .begin = begin,
      .bytes = std::min(all - std::min(all, begin), seat_.shape.slot_bytes)};
}

RingCircuit::Chunk RingCircuit::incoming(std::int64_t number) const {
  const int ranks = seat_.shape.ranks;
  const int place = static_cast<int>(number % per_round_);
  const int step = place / seat_.shape.depth;
  const int segment = (seat_.shape.rank + ranks - step - 1) % ranks;
  Chunk chunk = chunk_of(static_cast<std::size_t>(segment), number / per_round_,
                         place % seat_.shape.depth);
  chunk.step = step;
  return chunk;
}

absl::StatusOr<Advance> RingCircuit::advance() {
  bool moved = false;
  while (number_ < total_) {
    HVD_RETURN_IF_ERROR(post_receives());
    while (number_ % per_round_ == 0 && own_ < seat_.shape.depth) {
      HVD_ASSIGN_OR_RETURN(const bool sent, send_own());
      if (!sent) return moved ? Advance::kMoved : Advance::kStuck;
      ++own_;
      moved = true;
    }
    HVD_ASSIGN_OR_RETURN(const bool passed, pass_on());
    if (!passed) return moved ? Advance::kMoved : Advance::kStuck;
    ++number_;
    if (number_ % per_round_ == 0) own_ = 0;
    moved = true;
  }
  return Advance::kDone;
}

absl::Status RingCircuit::post_receives() {
  for (; posted_ < std::min(total_, number_ + seat_.shape.depth); ++posted_) {
    const std::size_t bytes = incoming(posted_).bytes;
    if (bytes == 0) continue;
    HVD_RETURN_IF_ERROR(link_.post_receive(seat_.previous, bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RingCircuit::send_own() {
  const Chunk chunk = chunk_of(static_cast<std::size_t>(seat_.shape.rank),
                               number_ / per_round_, own_);
  if (chunk.bytes == 0) return true;
  HVD_ASSIGN_OR_RETURN(const bool free, link_.can_send());
  if (!free) return false;
  HVD_ASSIGN_OR_RETURN(std::byte * slot, link_.take());
  std::memcpy(slot, gather_.mine.data() + chunk.begin, chunk.bytes);
  HVD_RETURN_IF_ERROR(link_.send(seat_.next, slot, chunk.bytes));
  return true;
}

absl::StatusOr<bool> RingCircuit::pass_on() {
  const Chunk chunk = incoming(number_);
  if (chunk.bytes == 0) return true;
  if (held_ == nullptr) {
    HVD_ASSIGN_OR_RETURN(held_, link_.try_receive());
    if (held_ == nullptr) return false;
    std::memcpy(gather_.places[chunk.segment] + chunk.begin, held_,
                chunk.bytes);
  }
  const bool is_last_step = chunk.step + 2 == seat_.shape.ranks;
  if (!is_last_step) {
    HVD_ASSIGN_OR_RETURN(const bool free, link_.can_send());
    if (!free) return false;
    HVD_RETURN_IF_ERROR(link_.send(seat_.next, held_, chunk.bytes));
  } else {
    link_.release(held_);
  }
  held_ = nullptr;
  return true;
}

absl::Status circulate(const RingSeat& seat, const RingGather& gather,
                       ChunkLink& link) {
  RingCircuit circuit(seat, gather, link);
  return link.drive([&] { return circuit.advance(); });
}

}  // namespace hvd::collective
