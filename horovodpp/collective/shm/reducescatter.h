// SPDX-License-Identifier: Apache-2.0
// Reducescatters between ranks of a node, with the bits of its allreduces.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/seat.h"
#include "horovodpp/collective/shm/slot_reducer.h"

namespace hvd::collective {

// Of no more than a slot: every member shows all of it, and reduces its own
// parts.
absl::Status reducescatter_at_once(const BoardSeat& seat,
                                   const ScatteredPieces& scattered,
                                   const ReduceKernel& kernel);

// Reduces what lies in the arenas of all members where it lies, and sends the
// rest through the slots. Nobody writes into the memory of others.
absl::Status reducescatter_in_arenas(const BoardSeat& seat, ArenaMap& arenas,
                                     const ScatteredPieces& scattered,
                                     const ReduceKernel& kernel);

// Of any length: every chunk holds a portion of each member's share, so that all
// reduce all the time; a member's own portion needs no copy.
class ChunkedReducescatter {
 public:
  // Borrows its arguments. There is an element.
  ChunkedReducescatter(const BoardSeat& seat, const ScatteredPieces& scattered,
                       const ReduceKernel& kernel);

  // Once, within a call on the board.
  absl::Status run();

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
  void reduce(std::uint64_t i, std::uint64_t step);

  const BoardSeat& seat_;
  const std::size_t element_bytes_;
  const std::vector<Share> shares_;   // By position,
  std::vector<PieceStream> streams_;  // as these.
  std::int64_t portion_ = 0;          // Elements of a share in a chunk.
  SlotReducer reducer_;
};

}  // namespace hvd::collective
