// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/alltoall.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

std::size_t sum(std::span<const std::size_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

}  // namespace

ShmAlltoall::ShmAlltoall(const BoardSeat& seat, ArenaMap* arenas,
                         const Alltoall& exchange)
    : seat_(seat),
      arenas_(arenas),
      exchange_(exchange),
      shown_at_(row_bytes()) {
  const std::size_t listing =
      ArenaTable::bytes_needed(2, static_cast<std::size_t>(seat.board.ranks()));
  if (arenas != nullptr && shown_at_ + listing <= seat.slot_bytes()) {
    listing_.emplace(seat, *arenas, shown_at_);
    shown_at_ += listing;
  }
  constexpr std::size_t kLine = ShmBoard::kAlignment;
  shown_at_ =
      std::min(seat.slot_bytes(), (shown_at_ + kLine - 1) / kLine * kLine);
  room_ = std::min(seat.slot_bytes() - shown_at_, seat.chunk_bytes());
  most_copied_ =
      listing_ ? std::min(seat.board.options().copied_bytes, room_) : room_;
}

absl::Status ShmAlltoall::run() {
  HVD_RETURN_IF_ERROR(meet());
  HVD_RETURN_IF_ERROR(check_sizes());
  return finish();
}

absl::Status ShmAlltoall::finish() {
  plan();
  if (have_all_shown()) {
    ResultCopy copy = copy_of_parts();
    keep_own(copy);
    for (int peer = 0; peer < seat_.ranks(); ++peer) {
      pick(peer, {0, most_}, seat_.slot(peer, 0) + shown_at_, copy);
    }
    copy.finish();
    return absl::OkStatus();
  }
  if (!listing_) return through_slots();
  const ArenaTable::Reading reading = listing_->reading();
  const ArenaTable::Inputs places(reading, 2);
  const ArenaCopies::Way way = choose(places);
  return way == ArenaCopies::Way::kNone ? through_slots()
                                        : in_arenas(places, way);
}

absl::Status ShmAlltoall::meet() {
  std::byte* const slot = seat_.board.mine();
  const std::size_t half = row_bytes() / 2;
  std::memcpy(slot, exchange_.send_bytes.data(), half);
  std::memcpy(slot + half, exchange_.receive_bytes.data(), half);
  const std::size_t receives = sum(exchange_.receive_bytes);
  if (lists(exchange_.input.size(), receives)) {
    listing_->list(
        ArenaCopies::listed(exchange_.input, exchange_.output, receives), 1);
  }
  if (shows_at_once()) show({0, streams()}, slot + shown_at_);
  if (listing_) {
    HVD_RETURN_IF_ERROR(listing_->meet_to_write());
  } else {
    seat_.board.arrive();
    HVD_RETURN_IF_ERROR(seat_.board.wait_for_arrivals(0, seat_.interrupt));
  }
  return absl::OkStatus();
}

bool ShmAlltoall::shows_at_once() const {
  if (streams() <= most_copied_) return true;
  return streams() <= room_ && listing_->is_foreign(ArenaListing::Share::kAll);
}

bool ShmAlltoall::have_all_shown() const {
  if (most_ <= most_copied_) return true;
  return most_ <= room_ && all_list() &&
         listing_->are_foreign(ArenaListing::Share::kAll);
}

bool ShmAlltoall::all_list() const {
  for (std::size_t m = 0; m < parts(); ++m) {
    if (!lists(sent(m), received(m))) return false;
  }
  return true;
}

std::size_t ShmAlltoall::shown(std::size_t member, std::size_t column) const {
  std::size_t number = 0;
  std::memcpy(&number,
              seat_.slot(static_cast<int>(member), 0) + column * sizeof(number),
              sizeof(number));
  return number;
}

absl::Status ShmAlltoall::check_sizes() const {
  for (std::size_t from = 0; from < parts(); ++from) {
    for (std::size_t to = 0; to < parts(); ++to) {
      const std::size_t expected = shown(to, parts() + from);
      if (sent(from, to) == expected) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("alltoall: rank ", from, " sends ", sent(from, to),
                       " bytes to rank ", to, ", which expects ", expected));
    }
  }
  return absl::OkStatus();
}

std::size_t ShmAlltoall::sent(std::size_t from) const {
  std::size_t bytes = 0;
  for (std::size_t to = 0; to < parts(); ++to) bytes += shown(from, to);
  return bytes;
}

std::size_t ShmAlltoall::received(std::size_t to) const {
  std::size_t bytes = 0;
  for (std::size_t from = 0; from < parts(); ++from) {
    bytes += shown(to, parts() + from);
  }
  return bytes;
}

void ShmAlltoall::plan() {
  const auto self = static_cast<std::size_t>(seat_.rank);
  std::byte* output = exchange_.output;
  deliveries_.reserve(parts());
  for (std::size_t peer = 0; peer < parts(); ++peer) {
    Delivery delivery = {.bytes = sent(peer, self), .output = output};
    for (std::size_t to = 0; to < self; ++to) {
      delivery.in_input += sent(peer, to);
    }
    for (std::size_t to = (peer + 1) % parts(); to != self && to != peer;
         to = (to + 1) % parts()) {
      delivery.in_stream += sent(peer, to);
    }
    deliveries_.push_back(delivery);
    output += delivery.bytes;
    most_ = std::max(most_, sent(peer) - sent(peer, peer));
  }
}

ArenaCopies::Way ShmAlltoall::choose(const ArenaTable::Inputs& places) const {
  if (!all_list()) return ArenaCopies::Way::kNone;
  return ArenaCopies::choose(
      places, parts(), !arenas_->read_only(),
      [&](std::size_t m) { return sent(m); },
      [&](std::size_t m) { return received(m); });
}

absl::Status ShmAlltoall::in_arenas(const ArenaTable::Inputs& places,
                                    ArenaCopies::Way way) {
  const auto self = static_cast<std::size_t>(seat_.rank);
  ArenaCopies copies(seat_);
  const std::byte* mine = exchange_.input.data();
  for (std::size_t peer = 0; peer < parts(); ++peer) {
    const std::size_t bytes = sent(self, peer);
    if (peer == self) {
      copies.add(mine, deliveries_[self].output, bytes);
    } else if (way == ArenaCopies::Way::kFromInputs) {
      const Delivery& delivery = deliveries_[peer];
      copies.add(
          places.at(peer, ArenaCopies::kInput, sent(peer)) + delivery.in_input,
          delivery.output, delivery.bytes);
    } else {
      std::size_t before = 0;
      for (std::size_t from = 0; from < self; ++from) {
        before += sent(from, peer);
      }
      copies.add(mine,
                 places.at(peer, ArenaCopies::kOutput, received(peer)) + before,
                 bytes);
    }
    mine += bytes;
  }
  return way == ArenaCopies::Way::kFromInputs ? copies.run()
                                              : copies.run_into_others();
}

absl::Status ShmAlltoall::through_slots() {
  const std::size_t chunk = seat_.chunk_bytes();
  ResultCopy copy = copy_of_parts();
  keep_own(copy);
  return seat_.step_through(
      seat_.steps_for(most_),
      [&](std::uint64_t i, std::byte* slot) {
        const std::size_t begin = std::min(streams(), i * chunk);
        show({begin, std::min(streams(), begin + chunk)}, slot);
      },
      [&](std::uint64_t i, std::uint64_t step) {
        for (int peer = 0; peer < seat_.ranks(); ++peer) {
          pick(peer, {i * chunk, (i + 1) * chunk}, seat_.slot(peer, step),
               copy);
        }
        copy.finish();
      });
}

ResultCopy ShmAlltoall::copy_of_parts() const {
  std::size_t all = 0;
  for (std::size_t m = 0; m < parts(); ++m) all += sent(m);
  return {seat_, all};
}

void ShmAlltoall::keep_own(ResultCopy& copy) const {
  const Delivery& own = deliveries_[static_cast<std::size_t>(seat_.rank)];
  copy(own.output, exchange_.input.data() + own.in_input, own.bytes);
}

void ShmAlltoall::show(const Window& window, std::byte* to) const {
  const auto self = static_cast<std::size_t>(seat_.rank);
  const std::byte* const input = exchange_.input.data();
  const std::size_t own_end = sum(exchange_.send_bytes.first(self + 1));
  // The stream begins behind this rank's own part and wraps around to the
  // beginning.
  const std::size_t until_end = exchange_.input.size() - own_end;
  const std::size_t turn = std::clamp(until_end, window.begin, window.end);
  seat_.writer.begin_step();
  if (window.begin < turn) {
    seat_.writer.copy(to, input + own_end + window.begin, turn - window.begin);
  }
  if (turn < window.end) {
    seat_.writer.copy(to + (turn - window.begin), input + (turn - until_end),
                      window.end - turn);
  }
  seat_.writer.finish();
}

void ShmAlltoall::pick(int peer, const Window& window, const std::byte* from,
                       ResultCopy& copy) const {
  const Delivery& delivery = deliveries_[static_cast<std::size_t>(peer)];
  const std::size_t begin = delivery.in_stream;
  const std::size_t first = std::max(begin, window.begin);
  const std::size_t last = std::min(begin + delivery.bytes, window.end);
  if (peer == seat_.rank || first >= last) return;
  copy(delivery.output + (first - begin), from + (first - window.begin),
       last - first);
}

absl::StatusOr<bool> exchange_if_alike(const BoardSeat& seat, ArenaMap* arenas,
                                       const AlltoallAlike& exchange) {
  const auto self = static_cast<std::size_t>(seat.rank);
  const std::size_t parts = seat.members.size();
  const auto sent = exchange.sizes.subspan(self * parts, parts);
  std::vector<std::size_t> supposed(sent.begin(), sent.end());
  // A rank without an output expects more from itself than it sends.
  if (exchange.output == nullptr) ++supposed[self];
  const Alltoall whole = {exchange.input, sent, exchange.output, supposed};
  ShmAlltoall attempt(seat, arenas, whole);
  HVD_RETURN_IF_ERROR(attempt.meet());
  for (std::size_t i = 0; i < exchange.sizes.size(); ++i) {
    exchange.sizes[i] = attempt.sent(i / parts, i % parts);
  }
  const bool is_alike = attempt.check_sizes().ok();
  if (is_alike) HVD_RETURN_IF_ERROR(attempt.finish());
  return is_alike;
}

}  // namespace hvd::collective
