// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/allgather.h"

#include <algorithm>
#include <cstdint>

#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/collective/shm/arena_listing.h"
#include "horovodpp/collective/shm/result_copy.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

ShmAllgather::ShmAllgather(const BoardSeat& seat, ArenaMap* arenas,
                           const HostPlane::Gather& gather)
    : seat_(seat), arenas_(arenas), gather_(gather) {
  for (const std::size_t bytes : gather.bytes_of_rank) {
    most_ = std::max(most_, bytes);
    total_ += bytes;
  }
}

absl::Status ShmAllgather::run() {
  const bool may_lie_there =
      arenas_ != nullptr && most_ > seat_.board.options().copied_bytes;
  return may_lie_there ? in_arenas() : through_slots();
}

absl::Status ShmAllgather::in_arenas() {
  using Way = ArenaCopies::Way;
  constexpr auto kAll = ArenaListing::Share::kAll;
  ArenaListing listing(seat_, *arenas_);
  listing.tell(ArenaCopies::listed(gather_.mine, gather_.output, total_), 1);
  const bool fits = most_ <= std::min(listing.room(), seat_.chunk_bytes());
  if (fits && listing.is_foreign(kAll)) {
    show(0, seat_.board.mine() + listing.shown_at());
  }
  HVD_RETURN_IF_ERROR(listing.meet_to_write());
  if (fits && listing.are_foreign(kAll)) {
    take(0, 0, listing.shown_at());
    return absl::OkStatus();
  }
  const ArenaTable::Reading reading = listing.reading();
  const ArenaTable::Inputs places(reading, 2);
  const Way way = ArenaCopies::choose(
      places, seat_.members.size(), !arenas_->read_only(),
      [&](std::size_t m) { return gather_.bytes_of_rank[m]; },
      [&](std::size_t) { return total_; });
  if (way == Way::kNone) return through_slots();

  std::size_t before_mine = 0;
  for (int peer = 0; peer < seat_.rank; ++peer) before_mine += bytes_of(peer);
  ArenaCopies copies(seat_);
  copies.add(gather_.mine.data(), gather_.output + before_mine,
             gather_.mine.size());
  std::size_t before = 0;
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    const auto m = static_cast<std::size_t>(peer);
    const std::size_t bytes = bytes_of(peer);
    if (peer != seat_.rank && way == Way::kFromInputs) {
      copies.add(places.at(m, ArenaCopies::kInput, bytes),
                 gather_.output + before, bytes);
    } else if (peer != seat_.rank) {
      copies.add(gather_.mine.data(),
                 places.at(m, ArenaCopies::kOutput, total_) + before_mine,
                 gather_.mine.size());
    }
    before += bytes;
  }
  return way == Way::kFromInputs ? copies.run() : copies.run_into_others();
}

absl::Status ShmAllgather::through_slots() {
  return seat_.step_through(
      seat_.steps_for(most_),
      [&](std::uint64_t i, std::byte* slot) { show(i, slot); },
      [&](std::uint64_t i, std::uint64_t step) { take(i, step, 0); });
}

std::size_t ShmAllgather::length_at(std::size_t bytes, std::uint64_t i) const {
  const std::size_t chunk = seat_.chunk_bytes();
  return std::min(chunk, bytes - std::min(bytes, i * chunk));
}

void ShmAllgather::show(std::uint64_t i, std::byte* to) const {
  const std::size_t length = length_at(gather_.mine.size(), i);
  if (length == 0) return;
  seat_.writer.begin_step();
  seat_.writer.copy(to, gather_.mine.data() + i * seat_.chunk_bytes(), length);
  seat_.writer.finish();
}

void ShmAllgather::take(std::uint64_t i, std::uint64_t step,
                        std::size_t shown_at) const {
  const std::size_t begin = i * seat_.chunk_bytes();
  ResultCopy copy(seat_, total_ * seat_.members.size());
  std::byte* to = gather_.output;
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    if (const std::size_t length = length_at(bytes_of(peer), i); length > 0) {
      const bool is_mine = peer == seat_.rank;
      copy(to + begin,
           is_mine ? gather_.mine.data() + begin
                   : seat_.slot(peer, step) + shown_at,
           length);
    }
    to += bytes_of(peer);
  }
  copy.finish();
}

}  // namespace hvd::collective
