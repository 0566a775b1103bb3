// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/allreduce.h"

#include <algorithm>

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
    // One step behind: by then the others are through with theirs.
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

// Nobody else reads this rank's slice of its slot: the result gets its place.
void ChunkedAllreduce::show(std::uint64_t i, std::byte* slot) {
  const Range own = slice_of(seat_.rank, i);
  const std::int64_t end = own.begin + own.count;
  seat_.writer.begin_step();
  inputs_.pack(seat_.writer, slot, own.begin);
  inputs_.skip(own.count);
  inputs_.pack(seat_.writer, slot + bytes_of(end), count_of(i) - end);
  seat_.writer.finish();
}

// In portions that do not leave the nearest cache in between.
void ChunkedAllreduce::reduce(std::uint64_t i, std::uint64_t step) {
  constexpr std::size_t kPortion = 16384;
  const auto most = static_cast<std::int64_t>(kPortion / element_bytes_);
  const Range own = slice_of(seat_.rank, i);
  std::byte* const slot = seat_.board.slot(seat_.board.rank(), step);
  std::size_t at = shown_at_ + bytes_of(own.begin);
  mine_.seek(static_cast<std::int64_t>(i) * per_chunk_ + own.begin);
  for (std::int64_t left = own.count; left > 0;) {
    const Piece run = mine_.take(std::min(left, most));
    const std::size_t bytes = bytes_of(run.count);
    reducer_.reduce({.step = step, .byte = at}, run.output, run.count,
                    run.input);
    seat_.writer.copy(slot + at, static_cast<const std::byte*>(run.output),
                      bytes);
    at += bytes;
    left -= run.count;
  }
  seat_.writer.finish();
}

absl::Status ChunkedAllreduce::take(std::uint64_t i, std::uint64_t step) {
  HVD_RETURN_IF_ERROR(seat_.board.wait_for_results(step, seat_.interrupt));
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    const Range slice = slice_of(peer, i);
    if (peer == seat_.rank) {
      outputs_.skip(slice.count);
    } else {
      outputs_.unpack(
          seat_.slot(peer, step) + shown_at_ + bytes_of(slice.begin),
          slice.count);
    }
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
