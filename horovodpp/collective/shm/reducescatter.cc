// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/reducescatter.h"

#include <algorithm>

#include "horovodpp/collective/arena/table.h"
#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// Returns the pieces as a table lists inputs.
std::vector<Piece> inputs_of(std::span<const Piece> pieces) {
  std::vector<Piece> inputs(pieces.begin(), pieces.end());
  for (Piece& piece : inputs) piece.output = const_cast<void*>(piece.input);
  return inputs;
}

// Reduces this rank's part of a piece. `inputs` point to the beginning of the
// whole piece; this function moves them on to the part.
void reduce_part(std::span<const void*> inputs, void* output,
                 std::span<const std::int64_t> counts, int rank,
                 const ReduceKernel& kernel) {
  const auto self = static_cast<std::size_t>(rank);
  std::int64_t before = 0;
  for (std::size_t r = 0; r < self; ++r) before += counts[r];
  for (const void*& input : inputs) {
    input = static_cast<const std::byte*>(input) +
            static_cast<std::size_t>(before) * kernel.element_bytes();
  }
  kernel.reduce(inputs, output, counts[self]);
}

}  // namespace

absl::Status reducescatter_in_arenas(const BoardSeat& seat, ArenaMap& arenas,
                                     const ScatteredPieces& scattered,
                                     const ReduceKernel& kernel) {
  const auto& [pieces, counts] = scattered;
  const std::vector<Piece> listed = inputs_of(pieces);
  constexpr auto kAny = ArenaListing::Share::kAny;
  ArenaListing listing(seat, arenas);
  listing.list(listed, kernel.element_bytes());
  ChunkedReducescatter all(seat, scattered, kernel);
  const bool fits = all.is_one_chunk() && all.chunk_bytes() <= listing.room();
  if (fits && listing.is_foreign(kAny)) {
    all.show_only(seat.board.mine() + listing.shown_at());
  }
  HVD_RETURN_IF_ERROR(listing.meet());
  if (fits && listing.are_foreign(kAny)) {
    all.run_shown(listing.shown_at());
    return absl::OkStatus();
  }
  const ArenaTable::Reading reading = listing.reading();
  const ArenaTable::Inputs inputs(reading, pieces.size());
  const auto parts = static_cast<std::size_t>(seat.ranks());
  std::vector<const void*> addresses(parts);
  std::vector<Piece> foreign;
  std::vector<std::int64_t> foreign_counts;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto of_piece = counts.subspan(p * parts, parts);
    if (pieces[p].count == 0) continue;
    const std::size_t bytes =
        static_cast<std::size_t>(pieces[p].count) * kernel.element_bytes();
    if (inputs.find(p, bytes, addresses)) {
      reduce_part(addresses, pieces[p].output, of_piece, seat.rank, kernel);
    } else {
      foreign.push_back(pieces[p]);
      foreign_counts.insert(foreign_counts.end(), of_piece.begin(),
                            of_piece.end());
    }
  }
  if (!foreign.empty()) {
    HVD_RETURN_IF_ERROR(
        ChunkedReducescatter(seat, {foreign, foreign_counts}, kernel).run());
  }
  // Members keep their inputs unchanged until all have read them.
  seat.board.finish(0);
  return seat.board.wait_for_results(0, seat.interrupt);
}

ChunkedReducescatter::ChunkedReducescatter(const BoardSeat& seat,
                                           const ScatteredPieces& scattered,
                                           const ReduceKernel& kernel)
    : seat_(seat),
      element_bytes_(kernel.element_bytes()),
      shares_(share_out(scattered)),
      reducer_(seat, kernel) {
  constexpr std::int64_t kWholeLines = 128;
  portion_ = static_cast<std::int64_t>(seat.chunk_bytes() / element_bytes_) /
             seat.ranks();
  if (portion_ > kWholeLines) portion_ -= portion_ % kWholeLines;
  streams_.reserve(shares_.size());
  for (const Share& share : shares_) {
    streams_.emplace_back(share.pieces, element_bytes_);
    most_ = std::max(most_, share.count);
  }
  portion_ =
      std::min(portion_, (most_ + kWholeLines - 1) / kWholeLines * kWholeLines);
}

absl::Status ChunkedReducescatter::run() {
  const auto steps = static_cast<std::uint64_t>((most_ - 1) / portion_ + 1);
  return seat_.step_through(
      steps, [&](std::uint64_t i, std::byte* slot) { show(i, slot); },
      [&](std::uint64_t i, std::uint64_t step) { reduce(i, {.step = step}); });
}

std::vector<ChunkedReducescatter::Share> ChunkedReducescatter::share_out(
    const ScatteredPieces& scattered) const {
  const auto& [pieces, counts] = scattered;
  const auto parts = static_cast<std::size_t>(seat_.ranks());
  std::vector<Share> shares(parts);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto* input = static_cast<const std::byte*>(pieces[p].input);
    for (std::size_t r = 0; r < parts; ++r) {
      const std::int64_t count = counts[p * parts + r];
      if (count == 0) continue;
      const bool mine = r == static_cast<std::size_t>(seat_.rank);
      shares[r].pieces.push_back(
          {input, mine ? pieces[p].output : nullptr, count});
      shares[r].count += count;
      input += static_cast<std::size_t>(count) * element_bytes_;
    }
  }
  return shares;
}

std::int64_t ChunkedReducescatter::count_of(std::size_t position,
                                            std::uint64_t i) const {
  const std::int64_t left =
      shares_[position].count - static_cast<std::int64_t>(i) * portion_;
  return std::clamp(left, std::int64_t{0}, portion_);
}

std::size_t ChunkedReducescatter::place_of(std::size_t position) const {
  return position * static_cast<std::size_t>(portion_) * element_bytes_;
}

void ChunkedReducescatter::show(std::uint64_t i, std::byte* slot) {
  seat_.writer.begin_step();
  for (std::size_t r = 0; r < shares_.size(); ++r) {
    if (r == static_cast<std::size_t>(seat_.rank)) continue;
    streams_[r].pack(seat_.writer, slot + place_of(r), count_of(r, i));
  }
  seat_.writer.finish();
}

void ChunkedReducescatter::reduce(std::uint64_t i,
                                  const SlotReducer::Place& chunk) {
  const auto self = static_cast<std::size_t>(seat_.rank);
  std::size_t at = chunk.byte + place_of(self);
  for (std::int64_t left = count_of(self, i); left > 0;) {
    const Piece run = streams_[self].take(left);
    reducer_.reduce({.step = chunk.step, .byte = at}, run.output, run.count,
                    run.input);
    at += static_cast<std::size_t>(run.count) * element_bytes_;
    left -= run.count;
  }
}

}  // namespace hvd::collective
