// SPDX-License-Identifier: Apache-2.0
// Reducescatters between ranks of a node, with the same bits as its allreduces.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/shm/slot_reducer.h"

namespace hvd::collective {

// The pieces of a reducescatter and, for each, the counts of the ranks' parts.
struct ScatteredPieces {
  std::span<const Piece> pieces;
  std::span<const std::int64_t> counts;
};

// Reduces inputs in the arenas of all members in place, and sends the others
// through the slots. Members do not write into each other's memory.
absl::Status reducescatter_in_arenas(const BoardSeat& seat, ArenaMap& arenas,
                                     const ScatteredPieces& scattered,
                                     const ReduceKernel& kernel);

// A reducescatter of any length. Every chunk holds a portion of each member's
// share, so that all reduce all the time. A member's own portion needs no copy.
// Short shares fit into one chunk.
class ChunkedReducescatter {
 public:
  // Borrows its arguments. Requires at least one element.
  ChunkedReducescatter(const BoardSeat& seat, const ScatteredPieces& scattered,
                       const ReduceKernel& kernel);

  // Call once, within a call on the board.
  absl::Status run();

  // run() of a single chunk, in two parts. First, this member shows its
  // elements, at the same place of all slots of step 0. The rest follows after
  // all members have arrived.
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
  // The number of elements of the share at `position` in chunk i, and their
  // first byte.
  std::int64_t count_of(std::size_t position, std::uint64_t i) const;
  std::size_t place_of(std::size_t position) const;

  void show(std::uint64_t i, std::byte* slot);
  // Reduces this rank's portion of chunk i, which begins at `chunk`.
  void reduce(std::uint64_t i, const SlotReducer::Place& chunk);

  const BoardSeat& seat_;
  const std::size_t element_bytes_;
  const std::vector<Share> shares_;   // By position.
  std::vector<PieceStream> streams_;  // Likewise.
  std::int64_t most_ = 0;             // Elements of the longest share.
  std::int64_t portion_ = 0;          // Elements of a share in a chunk.
  SlotReducer reducer_;
};

}  // namespace hvd::collective
