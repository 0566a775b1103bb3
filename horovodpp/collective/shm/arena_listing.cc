// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/arena_listing.h"

#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status ArenaListing::exchange(std::span<const Piece> pieces,
                                    std::size_t element_bytes,
                                    std::size_t most_shown) {
  const auto all = static_cast<std::size_t>(seat_.board.ranks());
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * element_bytes;
  tell(pieces, element_bytes);
  shown_at_ = begin_ + ArenaTable::bytes_needed(pieces.size(), all);
  all_show_ = bytes <= most_shown && shown_at_ + bytes <= seat_.slot_bytes();
  if (all_show_ && ArenaTable::tells_of_foreign(mine(), pieces.size(), all)) {
    seat_.writer.begin_step();
    PieceStream(pieces, element_bytes)
        .pack(seat_.writer, seat_.board.mine() + shown_at_,
              total_count(pieces));
    seat_.writer.finish();
  }
  HVD_RETURN_IF_ERROR(meet());
  for (const std::span<const std::byte> slot : slots_) {
    all_show_ =
        all_show_ && ArenaTable::tells_of_foreign(slot, pieces.size(), all);
  }
  return absl::OkStatus();
}

void ArenaListing::tell(std::span<const Piece> pieces,
                        std::size_t element_bytes) {
  ArenaTable::write(mine(), arenas_, pieces, element_bytes);
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

absl::Status ArenaListing::exchange_to_write(std::span<const Piece> pieces,
                                             std::size_t element_bytes,
                                             std::size_t most_shown) {
  return withdrawn_unless_ok(exchange(pieces, element_bytes, most_shown));
}

absl::Status ArenaListing::withdrawn_unless_ok(
    const absl::Status& outcome) const {
  if (!outcome.ok() && !absl::IsCancelled(outcome)) seat_.board.withdraw(0);
  return outcome;
}

}  // namespace hvd::collective
