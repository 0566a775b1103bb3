// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/allreduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "horovodpp/collective/reduce/slot_writer.h"
#include "horovodpp/collective/shm/slot_reducer.h"
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

namespace {

// Calls f(run, skipped, count) for each run's part of the elements of `slice`,
// a slice of all runs.
template <typename F>
void for_each_run(const ArenaTable::Runs& runs, const Range& slice, F f) {
  const std::int64_t end = slice.begin + slice.count;
  std::int64_t at = 0;  // Where the run begins.
  for (std::size_t run = 0; run < runs.counts.size() && at < end; ++run) {
    const std::int64_t from = std::max(at, slice.begin);
    const std::int64_t to = std::min(at + runs.counts[run], end);
    if (from < to) f(run, from - at, to - from);
    at += runs.counts[run];
  }
}

}  // namespace

absl::Status ArenaAllreduce::run(std::span<const Piece> pieces) {
  const std::size_t bytes = bytes_of(total_count(pieces));
  ArenaListing listing(seat_, arenas_);
  listing.list(pieces, kernel_.element_bytes());
  if (bytes <= std::min(listing.room(), seat_.chunk_bytes())) {
    return bytes <= seat_.board.crossovers().small_bytes
               ? run_small(pieces, listing)
               : run_chunk(pieces, listing);
  }
  HVD_RETURN_IF_ERROR(listing.meet_to_write());
  return run_listed(pieces, listing);
}

absl::Status ArenaAllreduce::run_small(std::span<const Piece> pieces,
                                       ArenaListing& listing) {
  constexpr auto kAny = ArenaListing::Share::kAny;
  if (listing.is_foreign(kAny)) listing.show(pieces, kernel_.element_bytes());
  HVD_RETURN_IF_ERROR(listing.meet_to_write());
  if (!listing.are_foreign(kAny)) return run_listed(pieces, listing);
  SlotReducer(seat_, kernel_).reduce_all(pieces, listing.shown_at());
  return absl::OkStatus();
}

// A chunk that lies partly in the arenas is not shown: its larger part may lie
// there.
absl::Status ArenaAllreduce::run_chunk(std::span<const Piece> pieces,
                                       ArenaListing& listing) {
  constexpr auto kAll = ArenaListing::Share::kAll;
  ChunkedAllreduce chunk(seat_, pieces, kernel_);
  if (listing.is_foreign(kAll)) {
    chunk.show_only(seat_.board.mine() + listing.shown_at());
  }
  HVD_RETURN_IF_ERROR(listing.meet_to_write());
  return listing.are_foreign(kAll) ? chunk.run_shown(listing.shown_at())
                                   : run_listed(pieces, listing);
}

absl::Status ArenaAllreduce::run_listed(std::span<const Piece> pieces,
                                        const ArenaListing& listing) {
  const ArenaTable::Sorted sorted =
      ArenaTable::sort(listing.reading(), pieces, kernel_.element_bytes());
  if (sorted.runs.total > 0) HVD_RETURN_IF_ERROR(reduce_for_all(sorted.runs));
  return sorted.foreign.empty()
             ? absl::OkStatus()
             : ChunkedAllreduce(seat_, sorted.foreign, kernel_).run();
}

absl::Status ArenaAllreduce::reduce_for_all(const ArenaTable::Runs& runs) {
  HVD_RETURN_IF_ERROR(seat_.board.check_no_withdrawal());
  reduce_slice(runs);
  seat_.board.finish(0);
  const absl::Status finished =
      seat_.board.wait_for_results(0, seat_.interrupt);
  if (!finished.ok()) {
    seat_.board.withdraw(0);
    return finished;
  }
  return arenas_.read_only() ? fetch_slices(runs) : absl::OkStatus();
}

// Reduces this rank's slice into all members' memory, or only into its own if
// it may not write into the others'.
void ArenaAllreduce::reduce_slice(const ArenaTable::Runs& runs) {
  const auto members = static_cast<std::size_t>(seat_.ranks());
  const auto self = static_cast<std::size_t>(seat_.rank);
  std::vector<const void*> inputs(members);
  std::vector<void*> outputs(arenas_.read_only() ? 1 : members);
  const auto reduce_part = [&](std::size_t run, std::int64_t skipped,
                               std::int64_t count) {
    const std::size_t skip = bytes_of(skipped);
    for (std::size_t m = 0; m < members; ++m) {
      inputs[m] = runs.inputs[run * members + m] + skip;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::size_t m = arenas_.read_only() ? self : i;
      outputs[i] = runs.outputs[run * members + m] + skip;
    }
    kernel_.reduce(inputs, outputs, count);
  };
  for_each_run(runs,
               seat_.slice_of(seat_.rank, runs.total, kernel_.element_bytes()),
               reduce_part);
}

// Copies the other members' slices from their memory.
absl::Status ArenaAllreduce::fetch_slices(const ArenaTable::Runs& runs) {
  const auto members = static_cast<std::size_t>(seat_.ranks());
  const auto self = static_cast<std::size_t>(seat_.rank);
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    if (peer == seat_.rank) continue;
    const auto fetch = [&](std::size_t run, std::int64_t skipped,
                           std::int64_t count) {
      std::byte* const* of = &runs.outputs[run * members];
      std::memcpy(of[self] + bytes_of(skipped), of[peer] + bytes_of(skipped),
                  bytes_of(count));
    };
    for_each_run(
        runs, seat_.slice_of(peer, runs.total, kernel_.element_bytes()), fetch);
  }
  // Members keep their slices unchanged until all have fetched them.
  return seat_.meet();
}

}  // namespace hvd::collective
