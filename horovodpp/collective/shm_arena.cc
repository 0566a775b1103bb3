// The ShmPlane's allreduce of what lies in the members' arenas.
#include <algorithm>
#include <cstring>

#include "horovodpp/collective/shm_steps.h"

namespace hvd::collective {
namespace {

// Calls f(run, skipped, count) for what of the elements [begin, end) of all
// runs lies in each.
template <typename F>
void for_each_run(const ArenaTable::Runs& runs, std::int64_t begin,
                  std::int64_t end, F f) {
  std::int64_t at = 0;  // Where the run begins.
  for (std::size_t run = 0; run < runs.counts.size() && at < end; ++run) {
    const std::int64_t from = std::max(at, begin);
    const std::int64_t to = std::min(at + runs.counts[run], end);
    if (from < to) f(run, from - at, to - from);
    at += runs.counts[run];
  }
}

}  // namespace

// Step 0 tells where everything lies, and shows at once what is short and does
// not lie in the arena. Nobody has written anything before all have arrived
// there, so it can be given up like any other call.
absl::Status ShmPlane::list(std::span<const Piece> pieces,
                            std::size_t element_bytes, std::size_t most_shown,
                            const Call& call, Listing& listing) {
  const auto all = static_cast<std::size_t>(board_.ranks());
  const std::span<std::byte> mine(board_.mine(), slot_bytes());
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * element_bytes;
  listing.shown_at = ArenaTable::bytes_needed(pieces.size(), all);
  listing.all_show =
      bytes <= most_shown && listing.shown_at + bytes <= slot_bytes();
  ArenaTable::write(mine, *arenas_, pieces, element_bytes);
  if (listing.all_show &&
      ArenaTable::tells_of_foreign(mine, pieces.size(), all)) {
    writer_.begin_step();
    PieceStream(pieces, element_bytes)
        .pack(writer_, mine.data() + listing.shown_at, total_count(pieces));
    writer_.finish();
  }
  board_.arrive();
  HVD_RETURN_IF_ERROR(board_.wait_for_arrivals(0, call.interrupt));
  for (int peer = 0; peer < ranks(); ++peer) {
    listing.slots.emplace_back(slot(peer, 0), slot_bytes());
    listing.all_show =
        listing.all_show &&
        ArenaTable::tells_of_foreign(listing.slots.back(), pieces.size(), all);
  }
  return absl::OkStatus();
}

absl::Status ShmPlane::allreduce_where_it_lies(std::span<const Piece> pieces,
                                               const ReduceKernel& kernel,
                                               const Call& call) {
  const std::size_t element_bytes = kernel.element_bytes();
  Listing listing;
  const absl::Status listed = list(
      pieces, element_bytes, board_.crossovers().small_bytes, call, listing);
  if (!listed.ok()) {
    if (!absl::IsCancelled(listed)) board_.withdraw(0);
    return listed;
  }
  if (listing.all_show) {
    reduce_shown(pieces, listing.shown_at, kernel);
    return absl::OkStatus();
  }
  const ArenaTable::Sorted sorted =
      ArenaTable::sort(reading_of(listing), pieces, element_bytes);
  if (sorted.runs.total > 0) {
    HVD_RETURN_IF_ERROR(allreduce_runs(sorted.runs, kernel, call));
  }
  return sorted.foreign.empty()
             ? absl::OkStatus()
             : allreduce_in_chunks(sorted.foreign, kernel, call);
}

absl::Status ShmPlane::allreduce_runs(const ArenaTable::Runs& runs,
                                      const ReduceKernel& kernel,
                                      const Call& call) {
  HVD_RETURN_IF_ERROR(board_.check_nobody_withdrew());
  reduce_runs(runs, kernel);
  board_.finish(0);
  const absl::Status finished = board_.wait_for_results(0, call.interrupt);
  if (!finished.ok()) {
    board_.withdraw(0);
    return finished;
  }
  return arenas_->read_only() ? collect_runs(runs, kernel.element_bytes(), call)
                              : absl::OkStatus();
}

// This rank's slice, for everybody; or for itself where it may not write into
// the memory of others.
void ShmPlane::reduce_runs(const ArenaTable::Runs& runs,
                           const ReduceKernel& kernel) {
  const auto members = static_cast<std::size_t>(ranks());
  const auto self = static_cast<std::size_t>(rank());
  const std::size_t element_bytes = kernel.element_bytes();
  const Slice mine = slice_of(rank(), runs.total, element_bytes);
  std::vector<const void*> inputs(members);
  std::vector<void*> outputs(arenas_->read_only() ? 1 : members);
  const auto reduce_part = [&](std::size_t run, std::int64_t skipped,
                               std::int64_t count) {
    const std::size_t skip = static_cast<std::size_t>(skipped) * element_bytes;
    for (std::size_t m = 0; m < members; ++m) {
      inputs[m] = runs.inputs[run * members + m] + skip;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::size_t m = arenas_->read_only() ? self : i;
      outputs[i] = runs.outputs[run * members + m] + skip;
    }
    kernel.reduce(inputs, outputs, count, {});
  };
  for_each_run(runs, mine.begin, mine.begin + mine.count, reduce_part);
}

// Fetches the other members' slices from their memory.
absl::Status ShmPlane::collect_runs(const ArenaTable::Runs& runs,
                                    std::size_t element_bytes,
                                    const Call& call) {
  const auto members = static_cast<std::size_t>(ranks());
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank()) continue;
    const Slice slice = slice_of(peer, runs.total, element_bytes);
    const auto fetch = [&](std::size_t run, std::int64_t skipped,
                           std::int64_t count) {
      const std::size_t skip =
          static_cast<std::size_t>(skipped) * element_bytes;
      const std::byte* const* of = &runs.outputs[run * members];
      std::memcpy(
          runs.outputs[run * members + static_cast<std::size_t>(rank())] + skip,
          of[peer] + skip, static_cast<std::size_t>(count) * element_bytes);
    };
    for_each_run(runs, slice.begin, slice.begin + slice.count, fetch);
  }
  // Nobody changes its own before all have fetched it.
  const std::uint64_t step = board_.steps();
  board_.arrive();
  return board_.wait_for_arrivals(step, call.interrupt);
}

}  // namespace hvd::collective
