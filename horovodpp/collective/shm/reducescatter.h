// SPDX-License-Identifier: Apache-2.0
// Reducescatters between ranks of a node, with the bits of its allreduces.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/seat.h"
#include "horovodpp/collective/shm/slot_reducer.h"

namespace hvd::collective {

// The pieces of a reducescatter and, of each, the counts of the ranks' parts.
struct ScatteredPieces {
  std::span<const Piece> pieces;
  std::span<const std::int64_t> counts;
};

// Reduces what lies in the arenas of all members where it lies, and sends the
// rest through the slots. Nobody writes into the memory of others.
absl::Status reducescatter_in_arenas(const BoardSeat& seat, ArenaMap& arenas,
                                     const ScatteredPieces& scattered,
                                     const ReduceKernel& kernel);

// Of any length: every chunk holds a portion of each member's share, so that all
// reduce all the time; a member's own portion needs no copy. Short shares are one chunk.
class ChunkedReducescatter {
 public:
  // Borrows its arguments. There is an element.
  ChunkedReducescatter(const BoardSeat& seat, const ScatteredPieces& scattered,
                       const ReduceKernel& kernel);

  // Once, within a call on the board.
  absl::Status run();

  // The same of what is one chunk, in two parts: what this member shows, at the same
  // place of all slots of step 0; and, once all have arrived there, the rest.
  bool is_one_chunk() const { return most_ <= portion_; }
  std::size_t chunk_bytes() const { return place_of(shares_.size()); }
  void show_only(std::byte* to) { show(0, to); }
  void run_shown(std::size_t shown_at) { reduce(0, {.byte = shown_at}); }

 private:
  // A member's parts of the pieces.
  struct Share {
    std::vector<Piece> pieces;
    std::int64_t count = 0;
  };

  std::vector<Share> share_out(const ScatteredPieces& scattered) const;
  // Of the share of the member at `position`: how many elements the i-th chunk
  // holds, and from which byte on.
  std::int64_t count_of(std::size_t position, std::uint64_t i) const;
  std::size_t place_of(std::size_t position) const;

  void show(std::uint64_t i, std::byte* slot);
  // Reduces this rank's portion of the i-th chunk, which begins at `chunk`.
  void reduce(std::uint64_t i, const SlotReducer::Place& chunk);

  const BoardSeat& seat_;
  const std::size_t element_bytes_;
  const std::vector<Share> shares_;   // By position,
  std::vector<PieceStream> streams_;  // as these.
  std::int64_t most_ = 0;             // Elements of the longest share,
  std::int64_t portion_ = 0;          // and of a share in a chunk.
  SlotReducer reducer_;
};

}  // namespace hvd::collective
