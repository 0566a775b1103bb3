// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/broadcast.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/collective/shm/arena_listing.h"
#include "horovodpp/collective/shm/result_copy.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status ShmBroadcast::run() {
  const bool may_lie_there =
      arenas_ != nullptr &&
      broadcast_.bytes > seat_.board.options().copied_bytes;
  return may_lie_there ? in_arenas() : through_slots();
}

absl::Status ShmBroadcast::in_arenas() {
  // Portions that are still near when the next member's copy is made.
  constexpr std::size_t kPortion = std::size_t{128} << 10;
  const bool sends = seat_.rank == broadcast_.root;
  const std::byte* const mine = sends ? broadcast_.input : broadcast_.output;
  const Piece piece = {mine, const_cast<std::byte*>(mine),
                       static_cast<std::int64_t>(broadcast_.bytes)};
  ArenaListing listing(seat_, *arenas_);
  listing.tell({&piece, 1}, 1);
  HVD_RETURN_IF_ERROR(listing.meet_to_write());
  const ArenaTable::Reading reading = listing.reading();
  const ArenaTable::Inputs places(reading, 1);
  const auto root = static_cast<std::size_t>(broadcast_.root);
  const std::byte* const input = places.at(root, 0, broadcast_.bytes);
  if (input == nullptr) return through_slots();

  std::vector<std::byte*> outputs;  // Of all but the root.
  for (std::size_t m = 0; m < seat_.members.size(); ++m) {
    if (m != root) outputs.push_back(places.at(m, 0, broadcast_.bytes));
  }
  const bool share =
      !arenas_->read_only() &&
      std::find(outputs.begin(), outputs.end(), nullptr) == outputs.end();
  ArenaCopies copies(seat_);
  if (!share) {
    if (!sends) copies.add(input, broadcast_.output, broadcast_.bytes);
    return copies.run();
  }
  const Range slice = seat_.slice_of(seat_.rank, piece.count, 1);
  const auto begin = static_cast<std::size_t>(slice.begin);
  const std::size_t end = begin + static_cast<std::size_t>(slice.count);
  for (std::size_t at = begin; at < end; at += kPortion) {
    for (std::byte* const output : outputs) {
      copies.add(input + at, output + at, std::min(kPortion, end - at));
    }
  }
  return copies.run_into_others();
}

absl::Status ShmBroadcast::through_slots() {
  const std::size_t chunk =
      std::min(seat_.chunk_bytes(), seat_.board.options().broadcast_step_bytes);
  const bool sends = seat_.rank == broadcast_.root;
  const auto length_at = [&](std::uint64_t i) {
    return std::min(chunk, broadcast_.bytes - i * chunk);
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    if (!sends) return;
    seat_.writer.begin_step();
    seat_.writer.copy(slot, broadcast_.input + i * chunk, length_at(i));
    seat_.writer.finish();
  };
  const std::size_t receivers = seat_.members.size() - 1;
  ResultCopy copy(seat_, broadcast_.bytes * receivers);
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    if (sends) return;
    copy(broadcast_.output + i * chunk, seat_.slot(broadcast_.root, step),
         length_at(i));
    copy.finish();
  };
  const std::uint64_t steps = (broadcast_.bytes - 1) / chunk + 1;
  return seat_.step_through(steps, fill, drain);
}

}  // namespace hvd::collective
