// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/arena_allreduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "horovodpp/collective/shm/allreduce.h"
#include "horovodpp/collective/shm/slot_reducer.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
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
  listing.tell(pieces, kernel_.element_bytes());
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

// A chunk that lies partly in the arenas is not shown: most of it may lie
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
  HVD_RETURN_IF_ERROR(seat_.board.check_nobody_withdrew());
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
