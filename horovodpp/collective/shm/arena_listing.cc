// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/arena_listing.h"

#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

void ArenaListing::tell(std::span<const Piece> pieces,
                        std::size_t element_bytes) {
  // Shown data begins at a cache line, as slots do: slices are cut along lines.
  constexpr std::size_t kLine = ShmBoard::kAlignment;
  const std::size_t end =
      begin_ + ArenaTable::bytes_needed(pieces.size(), ranks());
  shown_at_ = (end + kLine - 1) / kLine * kLine;
  pieces_ = pieces.size();
  ArenaTable::write(mine(), arenas_, pieces, element_bytes);
}

void ArenaListing::show(std::span<const Piece> pieces,
                        std::size_t element_bytes) {
  seat_.writer.begin_step();
  PieceStream(pieces, element_bytes)
      .pack(seat_.writer, seat_.board.mine() + shown_at_, total_count(pieces));
  seat_.writer.finish();
}

absl::Status ArenaListing::meet() {
  seat_.board.arrive();
  HVD_RETURN_IF_ERROR(seat_.board.wait_for_arrivals(0, seat_.interrupt));
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    slots_.emplace_back(seat_.slot(peer, 0) + begin_,
                        seat_.slot_bytes() - begin_);
  }
  return absl::OkStatus();
}

absl::Status ArenaListing::meet_to_write() {
  const absl::Status outcome = meet();
  if (!outcome.ok() && !absl::IsCancelled(outcome)) seat_.board.withdraw(0);
  return outcome;
}

bool ArenaListing::are_foreign(Share share) const {
  return std::all_of(slots_.begin(), slots_.end(),
                     [&](const std::span<const std::byte> slot) {
                       return is_foreign(slot, share);
                     });
}

}  // namespace hvd::collective
