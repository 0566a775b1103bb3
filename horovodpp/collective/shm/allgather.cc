// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/allgather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/collective/shm/result_copy.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kListed = 2;  // The input and the output.

// The first bytes that a rank shows if the others do not know its size.
struct Brought {
  std::size_t bytes = 0;
  bool has_output = false;
};

}  // namespace

ShmAllgather::ShmAllgather(const BoardSeat& seat, ArenaMap* arenas,
                           const Allgather& gather, std::size_t begin)
    : seat_(seat), arenas_(arenas), gather_(gather), shown_at_(begin) {
  for (const std::size_t bytes : gather.bytes_of_rank) {
    most_ = std::max(most_, bytes);
    total_ += bytes;
  }
  const std::size_t table = ArenaTable::bytes_needed(
      kListed, static_cast<std::size_t>(seat.board.ranks()));
  if (arenas != nullptr && most_ > seat.board.options().copied_bytes &&
      begin + table <= seat.slot_bytes()) {
    listing_.emplace(seat, *arenas, begin);
  }
}

absl::Status ShmAllgather::run() {
  if (!listing_) return through_slots();
  HVD_RETURN_IF_ERROR(meet());
  return finish();
}

absl::Status ShmAllgather::meet() {
  if (listing_) {
    listing_->list(ArenaCopies::listed(gather_.mine, gather_.output, total_),
                   1);
    shown_at_ = listing_->shown_at();
  }
  const std::size_t room =
      seat_.slot_bytes() - std::min(shown_at_, seat_.slot_bytes());
  fits_ = most_ <= std::min(room, seat_.chunk_bytes());
  if (is_shown()) show(0, seat_.board.mine() + shown_at_);
  if (listing_) return listing_->meet_to_write();
  seat_.board.arrive();
  return seat_.board.wait_for_arrivals(0, seat_.interrupt);
}

absl::Status ShmAllgather::finish() {
  using Way = ArenaCopies::Way;
  if (fits_ &&
      (!listing_ || listing_->are_foreign(ArenaListing::Share::kAll))) {
    take(0, 0, shown_at_);
    return absl::OkStatus();
  }
  if (!listing_) return through_slots();
  const ArenaTable::Reading reading = listing_->reading();
  const ArenaTable::Inputs places(reading, kListed);
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

absl::StatusOr<bool> gather_if_alike(const BoardSeat& seat, ArenaMap* arenas,
                                     const AllgatherAlike& gather) {
  const Brought mine = {gather.mine.size(), gather.output != nullptr};
  std::memcpy(seat.board.mine(), &mine, sizeof(mine));
  std::fill(gather.bytes_of_rank.begin(), gather.bytes_of_rank.end(),
            mine.bytes);
  const Allgather supposed = {gather.mine, gather.bytes_of_rank, gather.output};
  ShmAllgather attempt(seat, arenas, supposed, ShmBoard::kAlignment);
  HVD_RETURN_IF_ERROR(attempt.meet());
  bool is_alike = true;
  for (int peer = 0; peer < seat.ranks(); ++peer) {
    Brought theirs;
    std::memcpy(&theirs, seat.slot(peer, 0), sizeof(theirs));
    gather.bytes_of_rank[static_cast<std::size_t>(peer)] = theirs.bytes;
    is_alike = is_alike && theirs.has_output && theirs.bytes == mine.bytes;
  }
  if (is_alike) HVD_RETURN_IF_ERROR(attempt.finish());
  return is_alike;
}

}  // namespace hvd::collective
