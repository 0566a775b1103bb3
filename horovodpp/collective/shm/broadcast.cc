// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/broadcast.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/collective/shm/result_copy.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status ShmBroadcast::run() {
  const bool may_lie_there =
      arenas_ != nullptr &&
      broadcast_.bytes > seat_.board.options().copied_bytes;
  return may_lie_there ? in_arenas() : through_slots({});
}

absl::Status ShmBroadcast::in_arenas() {
  constexpr auto kAll = ArenaListing::Share::kAll;
  const std::byte* const mine = sends() ? broadcast_.input : broadcast_.output;
  const Piece piece = {mine, const_cast<std::byte*>(mine),
                       static_cast<std::int64_t>(broadcast_.bytes)};
  ArenaListing listing(seat_, *arenas_);
  listing.list({&piece, 1}, 1);
  const Shown shown = {
      .bytes = std::min({broadcast_.bytes, listing.room(), chunk_bytes()}),
      .at = listing.shown_at()};
  if (listing.is_foreign(kAll)) {
    show(0, shown.bytes, seat_.board.mine() + shown.at);
  }
  HVD_RETURN_IF_ERROR(listing.meet_to_write());
  if (listing.is_foreign(broadcast_.root, kAll)) return through_slots(shown);
  const ArenaTable::Reading reading = listing.reading();
  const ArenaTable::Inputs places(reading, 1);
  const auto root = static_cast<std::size_t>(broadcast_.root);
  const std::byte* const input = places.at(root, 0, broadcast_.bytes);
  if (input == nullptr) return through_slots({});

  std::vector<std::byte*> outputs;  // Of all members but the root.
  for (std::size_t m = 0; m < seat_.members.size(); ++m) {
    if (m != root) outputs.push_back(places.at(m, 0, broadcast_.bytes));
  }
  const bool share =
      !arenas_->read_only() &&
      std::find(outputs.begin(), outputs.end(), nullptr) == outputs.end();
  ArenaCopies copies(seat_);
  if (!share) {
    if (!sends()) copies.add(input, broadcast_.output, broadcast_.bytes);
    return copies.run();
  }
  const Range slice = seat_.slice_of(seat_.rank, piece.count, 1);
  const auto begin = static_cast<std::size_t>(slice.begin);
  for (std::byte* const output : outputs) {
    copies.add(input + begin, output + begin,
               static_cast<std::size_t>(slice.count));
  }
  return copies.run_into_others();
}

absl::Status ShmBroadcast::through_slots(const Shown& shown) {
  if (shown.bytes > 0) {
    take(0, shown.bytes, seat_.slot(broadcast_.root, 0) + shown.at);
  }
  const std::size_t left = broadcast_.bytes - shown.bytes;
  if (left == 0) return absl::OkStatus();
  const std::size_t chunk = chunk_bytes();
  const auto length_at = [&](std::uint64_t i) {
    return std::min(chunk, left - i * chunk);
  };
  return seat_.step_through((left - 1) / chunk + 1,
                            [&](std::uint64_t i, std::byte* slot) {
                              show(shown.bytes + i * chunk, length_at(i), slot);
                            },
                            [&](std::uint64_t i, std::uint64_t step) {
                              take(shown.bytes + i * chunk, length_at(i),
                                   seat_.slot(broadcast_.root, step));
                            });
}

// Short chunks overlap sooner: members copy one chunk while the root shows the
// next, and only the first has no overlap.
std::size_t ShmBroadcast::chunk_bytes() const {
  constexpr std::size_t kFewSteps = 32;
  return std::min(seat_.chunk_bytes(),
                  std::max(seat_.board.options().broadcast_step_bytes,
                           broadcast_.bytes / kFewSteps));
}

void ShmBroadcast::show(std::size_t begin, std::size_t bytes,
                        std::byte* to) const {
  if (!sends()) return;
  seat_.writer.begin_step();
  seat_.writer.copy(to, broadcast_.input + begin, bytes);
  seat_.writer.finish();
}

void ShmBroadcast::take(std::size_t begin, std::size_t bytes,
                        const std::byte* from) const {
  if (sends()) return;
  const std::size_t receivers = seat_.members.size() - 1;
  ResultCopy copy(seat_, broadcast_.bytes * receivers);
  copy(broadcast_.output + begin, from, bytes);
  copy.finish();
}

}  // namespace hvd::collective
