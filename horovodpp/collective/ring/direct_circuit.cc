// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/direct_circuit.h"

#include <algorithm>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// Stages for which receives are posted ahead.
constexpr std::size_t kStages = 4;
// Rounds whose results may wait to be sent, each in a slot of its own.
constexpr std::size_t kResults = 2;

// The most bytes that a rank sends whole, to all others together. With more,
// the bytes cost more than the second step.
constexpr std::size_t kMaxWhole = std::size_t{64} << 10;
// Between two ranks sending whole moves no more bytes, but doubles the
// arithmetic.
constexpr std::size_t kMaxWholeWithTwoRanks = std::size_t{1} << 20;

bool is_for_all(const DirectFlow& flow, int ranks) {
  const Range whole = {0, flow.count()};
  for (int rank = 0; rank < ranks; ++rank) {
    if (flow.needed(rank, whole).count != whole.count) return false;
  }
  return true;
}

// Whether all ranks send whole; the same on all ranks.
bool goes_whole(const DirectFlow& flow, int ranks) {
  const std::size_t bytes =
      static_cast<std::size_t>(flow.count()) * flow.contribution_bytes();
  const std::size_t sent = bytes * static_cast<std::size_t>(ranks - 1);
  return sent <= (ranks == 2 ? kMaxWholeWithTwoRanks : kMaxWhole) &&
         is_for_all(flow, ranks);
}

std::int64_t elements_in(std::size_t slot_bytes, const DirectFlow& flow) {
  return static_cast<std::int64_t>(
      slot_bytes / std::max(flow.contribution_bytes(), flow.result_bytes()));
}

}  // namespace

Staging direct_staging(int ranks, std::size_t total_bytes,
                       std::size_t most_bytes) {
  constexpr std::size_t kLeast = std::size_t{8} << 10;
  const std::size_t receives =
      kStages * static_cast<std::size_t>(std::max(ranks - 1, 1));
  const std::size_t slots = 2 * (receives + kResults);
  return Staging(static_cast<int>(slots),
                 std::clamp(total_bytes / slots, std::min(kLeast, most_bytes),
                            most_bytes));
}

DirectCircuit::DirectCircuit(const DirectSeat& seat, DirectFlow& flow,
                             ChunkLink& link)
    : seat_(seat),
      flow_(flow),
      link_(link),
      others_(seat.shape().ranks - 1),
      goes_whole_(goes_whole(flow, seat.shape().ranks)),
      per_round_(elements_in(link.slot_bytes(), flow)),
      rounds_((segment_of(0).count + per_round_ - 1) / per_round_),
      kept_(seat.members.size()) {}

// A segment for each rank; the first ones may be longer by one element.
Range DirectCircuit::segment_of(std::size_t position) const {
  if (goes_whole_) return {0, flow_.count()};
  const auto place = static_cast<std::int64_t>(position);
  const std::int64_t even = flow_.count() / (others_ + 1);
  const std::int64_t longer = flow_.count() % (others_ + 1);
  return {place * even + std::min(place, longer),
          even + (place < longer ? 1 : 0)};
}

Range DirectCircuit::part_of(std::size_t position, std::int64_t round) const {
  const Range segment = segment_of(position);
  const std::int64_t skipped = std::min(segment.count, round * per_round_);
  return {segment.begin + skipped,
          std::min(segment.count - skipped, per_round_)};
}

// Stages: contributions 0; contributions 1, results 0; contributions 2, results
// 1; … and the last results. If sent whole, contributions alone.
DirectCircuit::Message DirectCircuit::message(std::int64_t number,
                                              bool incoming) const {
  const std::int64_t stage = number / others_;
  const std::int64_t distance = number % others_ + 1;
  const std::int64_t ranks = others_ + 1;
  const std::int64_t turn = incoming ? ranks - distance : distance;
  const auto self = static_cast<std::size_t>(seat_.position);
  const auto peer = static_cast<std::size_t>((seat_.position + turn) % ranks);
  const bool is_last = !goes_whole_ && stage == 2 * rounds_ - 1;
  const bool is_result =
      is_last || (!goes_whole_ && stage > 0 && stage % 2 == 0);
  const std::int64_t round = goes_whole_ ? stage
                             : is_last   ? rounds_ - 1
                             : is_result ? stage / 2 - 1
                                         : (stage + 1) / 2;
  const Range whole = part_of(is_result == incoming ? peer : self, round);
  if (!is_result) {
    return {.is_result = false,
            .round = round,
            .peer = peer,
            .range = whole,
            .whole = whole,
            .bytes = static_cast<std::size_t>(whole.count) *
                     flow_.contribution_bytes()};
  }
  const Range range =
      flow_.needed(static_cast<int>(incoming ? self : peer), whole);
  return {
      .is_result = true,
      .round = round,
      .peer = peer,
      .range = range,
      .whole = whole,
      .bytes = static_cast<std::size_t>(range.count) * flow_.result_bytes()};
}

absl::StatusOr<Advance> DirectCircuit::advance() {
  bool moved = false;
  while (sent_ < total() || taken_ < total() || is_complete_) {
    HVD_RETURN_IF_ERROR(post_receives());
    HVD_ASSIGN_OR_RETURN(const bool sent, send_next());
    HVD_ASSIGN_OR_RETURN(const bool taken, take_next());
    if (!sent && !taken) return moved ? Advance::kMoved : Advance::kStuck;
    moved = true;
  }
  return Advance::kDone;
}

absl::Status DirectCircuit::post_receives() {
  const int most = link_.depth() - static_cast<int>(kResults);
  for (; posted_ < total(); ++posted_) {
    const Message next = message(posted_, true);
    if (next.bytes == 0) continue;
    if (occupied_ == most) break;
    HVD_RETURN_IF_ERROR(
        link_.post_receive(seat_.members[next.peer], next.bytes));
    ++occupied_;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DirectCircuit::send_next() {
  if (sent_ == total()) return false;
  const Message next = message(sent_, false);
  if (next.is_result && next.round >= reduced_) return false;
  if (next.bytes > 0) {
    HVD_ASSIGN_OR_RETURN(const bool free, link_.can_send());
    if (!free) return false;
    const int to = seat_.members[next.peer];
    if (next.is_result) {
      const auto skipped =
          static_cast<std::size_t>(next.range.begin - next.whole.begin);
      HVD_RETURN_IF_ERROR(
          link_.send_part(to, results_.front().slot,
                          {skipped * flow_.result_bytes(), next.bytes}));
    } else {
      HVD_ASSIGN_OR_RETURN(std::byte * slot, link_.take());
      flow_.load(next.range, slot);
      HVD_RETURN_IF_ERROR(link_.send(to, slot, next.bytes));
    }
  }
  ++sent_;
  if (next.is_result && sent_ % others_ == 0) finish_round(next.round);
  return true;
}

void DirectCircuit::finish_round(std::int64_t round) {
  if (results_.empty() || results_.front().round != round) return;
  link_.release_when_sent(results_.front().slot);
  results_.pop_front();
}

absl::StatusOr<bool> DirectCircuit::take_next() {
  if (is_complete_) return reduce_round();
  if (taken_ == total()) return false;
  const Message next = message(taken_, true);
  if (next.bytes > 0) {
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link_.try_receive());
    if (slot == nullptr) return false;
    if (next.is_result) {
      flow_.take_in(next.range, slot);
      release(slot);
    } else {
      kept_[next.peer] = slot;
    }
  }
  ++taken_;
  is_complete_ = !next.is_result && taken_ % others_ == 0;
  return true;
}

bool DirectCircuit::reduce_round() {
  // Reducing overwrites this rank's contribution, so all sends must have loaded
  // it before.
  if (goes_whole_ && sent_ < (reduced_ + 1) * others_) return false;
  const Range part =
      part_of(static_cast<std::size_t>(seat_.position), reduced_);
  if (part.count > 0) {
    if (results_.size() == kResults) return false;
    // Results replace a contribution, whose memory is in the cache.
    std::byte* place = kept_[seat_.position == 0 ? 1 : 0];
    flow_.reduce(part, kept_, place);
    if (goes_whole_) {
      place = nullptr;
    } else {
      results_.push_back({reduced_, place});
      --occupied_;
    }
    for (std::byte*& slot : kept_) {
      if (slot != nullptr && slot != place) release(slot);
      slot = nullptr;
    }
  }
  ++reduced_;
  is_complete_ = false;
  return true;
}

void DirectCircuit::release(std::byte* slot) {
  link_.release(slot);
  --occupied_;
}

absl::Status exchange_directly(const DirectSeat& seat, DirectFlow& flow,
                               ChunkLink& link) {
  DirectCircuit circuit(seat, flow, link);
  return link.drive([&] { return circuit.advance(); });
}

}  // namespace hvd::collective
