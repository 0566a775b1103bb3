// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/allreduce.h"

#include <algorithm>

#include "horovodpp/collective/reduce/fetch.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status allreduce_at_once(const BoardSeat& seat,
                               std::span<const Piece> pieces,
                               const ReduceKernel& kernel) {
  const auto fill = [&](std::uint64_t, std::byte* slot) {
    PieceStream(pieces, kernel.element_bytes()).pack(slot, total_count(pieces));
  };
  const auto drain = [&](std::uint64_t, std::uint64_t) {
    SlotReducer(seat, kernel).reduce_all(pieces, 0);
  };
  return seat.step_through(1, fill, drain);
}

ChunkedAllreduce::ChunkedAllreduce(const BoardSeat& seat,
                                   std::span<const Piece> pieces,
                                   const ReduceKernel& kernel)
    : seat_(seat),
      element_bytes_(kernel.element_bytes()),
      per_chunk_(
          static_cast<std::int64_t>(seat.chunk_bytes() / element_bytes_)),
      count_(total_count(pieces)),
      reducer_(seat, kernel),
      inputs_(pieces, element_bytes_),
      mine_(pieces, element_bytes_),
      outputs_(pieces, element_bytes_) {}

absl::Status ChunkedAllreduce::run() {
  const std::uint64_t steps = seat_.steps_for(bytes_of(count_));
  const auto fill = [&](std::uint64_t i, std::byte* slot) { show(i, slot); };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    reduce(i, step);
    seat_.board.finish(step);
    // Results are taken one step late, when the other members have reduced
    // theirs.
    if (i > 0) HVD_RETURN_IF_ERROR(take(i - 1, step - 1));
    return i + 1 < steps ? absl::OkStatus() : take(i, step);
  };
  return seat_.step_through(steps, fill, drain);
}

absl::Status ChunkedAllreduce::run_shown(std::size_t shown_at) {
  shown_at_ = shown_at;
  reduce(0, 0);
  seat_.board.finish(0);
  return take(0, 0);
}

std::int64_t ChunkedAllreduce::count_of(std::uint64_t i) const {
  return std::min(per_chunk_,
                  count_ - static_cast<std::int64_t>(i) * per_chunk_);
}

// Skips this rank's own slice: no other member reads it.
void ChunkedAllreduce::show(std::uint64_t i, std::byte* slot) {
  const Range own = slice_of(seat_.rank, i);
  const std::int64_t end = own.begin + own.count;
  seat_.writer.begin_step();
  inputs_.pack(seat_.writer, slot, own.begin);
  inputs_.skip(own.count);
  inputs_.pack(seat_.writer, slot + bytes_of(end), count_of(i) - end);
  seat_.writer.finish();
}

// Only this rank reads its slice of the others' slots, so the results overwrite
// it.
void ChunkedAllreduce::reduce(std::uint64_t i, std::uint64_t step) {
  const Range own = slice_of(seat_.rank, i);
  std::size_t at = shown_at_ + bytes_of(own.begin);
  const std::size_t end = at + bytes_of(own.count);
  std::size_t fetched = at;
  mine_.seek(static_cast<std::int64_t>(i) * per_chunk_ + own.begin);
  while (at < end) {
    const std::size_t ahead = std::min(end, at + 2 * kPortion);
    fetch_of_others(step, fetched, ahead - fetched);
    fetched = ahead;
    const Piece run = mine_.take(static_cast<std::int64_t>(
        std::min(end - at, kPortion) / element_bytes_));
    reducer_.reduce_for_all({.step = step, .byte = at}, run);
    at += bytes_of(run.count);
  }
}

void ChunkedAllreduce::fetch_of_others(std::uint64_t step, std::size_t at,
                                       std::size_t bytes) const {
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    if (peer != seat_.rank) fetch_to_write(seat_.slot(peer, step) + at, bytes);
  }
}

// Results lie where this rank showed the inputs.
absl::Status ChunkedAllreduce::take(std::uint64_t i, std::uint64_t step) {
  HVD_RETURN_IF_ERROR(seat_.board.wait_for_results(step, seat_.interrupt));
  const Range own = slice_of(seat_.rank, i);
  const std::int64_t end = own.begin + own.count;
  const std::byte* const slot = seat_.slot(seat_.rank, step) + shown_at_;
  unpack(slot, own.begin);
  outputs_.skip(own.count);
  unpack(slot + bytes_of(end), count_of(i) - end);
  return absl::OkStatus();
}

void ChunkedAllreduce::unpack(const std::byte* from, std::int64_t count) {
  const std::byte* const end = from + bytes_of(count);
  const auto left = [&] { return static_cast<std::size_t>(end - from); };
  fetch_to_write(from, std::min(left(), kPortion));
  while (from < end) {
    const std::size_t bytes = std::min(left(), kPortion);
    fetch_to_write(from + bytes, std::min(left() - bytes, kPortion));
    outputs_.unpack(from, static_cast<std::int64_t>(bytes / element_bytes_));
    from += bytes;
  }
}

}  // namespace hvd::collective
