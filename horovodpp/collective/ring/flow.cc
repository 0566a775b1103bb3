// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/flow.h"

#include <algorithm>
#include <cstring>

namespace hvd::collective {

AllgatherFlow::AllgatherFlow(const RingShape& ring,
                             std::span<const std::byte> mine,
                             std::span<const std::size_t> bytes_of_rank,
                             std::span<std::byte* const> places)
    : ring_(ring), mine_(mine), bytes_of_rank_(bytes_of_rank), places_(places) {
  const std::size_t per_round =
      static_cast<std::size_t>(ring.depth) * ring.slot_bytes;
  const std::size_t most =
      *std::max_element(bytes_of_rank.begin(), bytes_of_rank.end());
  rounds_ = static_cast<std::int64_t>((most + per_round - 1) / per_round);
}

std::size_t AllgatherFlow::begin(const RingChunk& chunk) const {
  const std::size_t chunks_before = static_cast<std::size_t>(chunk.round) *
                                        static_cast<std::size_t>(ring_.depth) +
                                    static_cast<std::size_t>(chunk.chunk);
  return chunks_before * ring_.slot_bytes;
}

std::size_t AllgatherFlow::bytes(const RingChunk& chunk) const {
  const std::size_t all =
      bytes_of_rank_[static_cast<std::size_t>(chunk.segment)];
  const std::size_t from = std::min(all, begin(chunk));
  return std::min(all - from, ring_.slot_bytes);
}

void AllgatherFlow::load(const RingChunk& chunk, std::byte* slot) {
  std::memcpy(slot, mine_.data() + begin(chunk), bytes(chunk));
}

void AllgatherFlow::receive(const RingChunk& chunk, std::byte* slot) {
  std::byte* const place = places_[static_cast<std::size_t>(chunk.segment)];
  std::memcpy(place + begin(chunk), slot, bytes(chunk));
}

}  // namespace hvd::collective
