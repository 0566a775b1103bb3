// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/slot_reducer.h"

namespace hvd::collective {

void SlotReducer::reduce(const Place& place, void* output, std::int64_t count,
                         const void* own) {
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    inputs_[static_cast<std::size_t>(peer)] =
        seat_.slot(peer, place.step) + place.byte;
  }
  if (own != nullptr) inputs_[static_cast<std::size_t>(seat_.rank)] = own;
  kernel_.reduce(inputs_, output, count);
}

void SlotReducer::reduce_for_all(const Place& place, const Piece& run) {
  for (std::size_t m = 0; m < inputs_.size(); ++m) {
    std::byte* const shown =
        seat_.board.slot(seat_.members[m], place.step) + place.byte;
    inputs_[m] = shown;
    outputs_[m] = shown;
  }
  const auto self = static_cast<std::size_t>(seat_.rank);
  inputs_[self] = run.input;
  outputs_[self] = run.output;
  kernel_.reduce(inputs_, outputs_, run.count);
}

void SlotReducer::reduce_all(std::span<const Piece> pieces, std::size_t byte) {
  for (const Piece& piece : pieces) {
    reduce({.byte = byte}, piece.output, piece.count);
    byte += static_cast<std::size_t>(piece.count) * kernel_.element_bytes();
  }
}

}  // namespace hvd::collective
