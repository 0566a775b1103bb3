// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/arena_copies.h"

#include <algorithm>

#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/shm/result_copy.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

void ArenaListing::list(std::span<const Piece> pieces,
                        std::size_t element_bytes) {
  // Shown data begins at a cache line, as slots do: slices are cut along lines.
  constexpr std::size_t kLine = ShmBoard::kAlignment;
  const std::size_t end =
      begin_ + ArenaTable::bytes_needed(pieces.size(), ranks());
  shown_at_ = (end + kLine - 1) / kLine * kLine;
  pieces_ = pieces.size();
  ArenaTable::write(mine(), arenas_, pieces, element_bytes);
}

void ArenaListing::show(std::span<const Piece> pieces,
                        std::size_t element_bytes) {
  seat_.writer.begin_step();
  PieceStream(pieces, element_bytes)
      .pack(seat_.writer, seat_.board.mine() + shown_at_, total_count(pieces));
  seat_.writer.finish();
}

absl::Status ArenaListing::meet() {
  seat_.board.arrive();
  HVD_RETURN_IF_ERROR(seat_.board.wait_for_arrivals(0, seat_.interrupt));
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    slots_.emplace_back(seat_.slot(peer, 0) + begin_,
                        seat_.slot_bytes() - begin_);
  }
  return absl::OkStatus();
}

absl::Status ArenaListing::meet_to_write() {
  const absl::Status outcome = meet();
  if (!outcome.ok() && !absl::IsCancelled(outcome)) seat_.board.withdraw(0);
  return outcome;
}

bool ArenaListing::are_foreign(Share share) const {
  return std::all_of(slots_.begin(), slots_.end(),
                     [&](const std::span<const std::byte> slot) {
                       return is_foreign(slot, share);
                     });
}

std::array<Piece, 2> ArenaCopies::listed(std::span<const std::byte> input,
                                         std::byte* output,
                                         std::size_t output_bytes) {
  auto* const sent = const_cast<std::byte*>(input.data());
  return {Piece{sent, sent, static_cast<std::int64_t>(input.size())},
          Piece{output, output, static_cast<std::int64_t>(output_bytes)}};
}

absl::Status ArenaCopies::run() {
  // Copies go through all blocks in turn, in portions of this size. So data for
  // several members is still in the cache for its next copy.
  constexpr std::size_t kPortion = std::size_t{128} << 10;
  std::size_t longest = 0;
  std::size_t written = 0;
  for (const Block& block : blocks_) {
    longest = std::max(longest, block.bytes);
    written += block.bytes;
  }
  ResultCopy copy(seat_, written * seat_.members.size());
  for (std::size_t at = 0; at < longest; at += kPortion) {
    for (const Block& block : blocks_) {
      if (at >= block.bytes) continue;
      copy(block.to + at, block.from + at,
           std::min(kPortion, block.bytes - at));
    }
  }
  copy.finish();
  seat_.board.finish(0);
  return seat_.board.wait_for_results(0, seat_.interrupt);
}

absl::Status ArenaCopies::run_into_others() {
  HVD_RETURN_IF_ERROR(seat_.board.check_no_withdrawal());
  const absl::Status status = run();
  if (!status.ok()) seat_.board.withdraw(0);
  return status;
}

}  // namespace hvd::collective
