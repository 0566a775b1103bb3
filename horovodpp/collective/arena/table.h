// SPDX-License-Identifier: Apache-2.0
// An ArenaTable lists the places of a rank's pieces of a fused call and the
// arenas that the rank can access. The rank publishes it in its slot of a step.
// From all tables, all ranks derive the same list of pieces that can be reduced
// in place:
//
//   ArenaTable::write(slot, map, pieces, element_bytes);
//   ...                                         // all have arrived
//   const auto sorted = ArenaTable::sort(reading, pieces, element_bytes);
//
// All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/reduce/piece.h"

namespace hvd::collective {

class ArenaTable {
 public:
  // Whether a slot has room for a table of at least one piece. Pieces that do
  // not fit count as outside the arenas.
  static bool fits(std::size_t slot_bytes, std::size_t ranks);

  // The bytes that a table of so many pieces takes of a slot that has room for
  // it.
  static std::size_t bytes_needed(std::size_t pieces, std::size_t ranks);

  // Writes the table. Also lists and maps new extents.
  static void write(std::span<std::byte> slot, ArenaMap& map,
                    std::span<const Piece> pieces, std::size_t element_bytes);

  // Whether any, or all, of the `pieces` in a table lie outside its rank's
  // arena. The table lies in `slot` and has room for all pieces.
  enum class Share { kAny, kAll };
  static bool lists_foreign(std::span<const std::byte> slot, std::size_t pieces,
                            std::size_t ranks, Share share);

  struct Reading {
    const ArenaMap& map;
    // The ranks of the call, numbered as in the map, and the slot of each.
    std::span<const int> members;
    std::span<const std::span<const std::byte>> slots;
    std::size_t ranks;  // Number of ranks in the map.
  };
  // The places of the inputs of a call's pieces.
  class Inputs {
   public:
    // `reading` outlives this object. The tables list `pieces` pieces; each
    // entry is input and output alike.
    Inputs(const Reading& reading, std::size_t pieces);
    // Puts each member's address of a piece's input, `bytes` long, into
    // `addresses`. Returns false, on all members, if the inputs do not lie in
    // the arenas of all.
    bool find(std::size_t piece, std::size_t bytes,
              std::span<const void*> addresses) const;
    // The address of the first `bytes` of a piece's input on member m; nullptr,
    // on all members, if not all of them reach it.
    std::byte* at(std::size_t m, std::size_t piece, std::size_t bytes) const;

   private:
    const Reading& reading_;
    const std::size_t told_;
    const std::vector<std::uint32_t> usable_;
  };

  // Elements that are contiguous in the memory of every member.
  struct Runs {
    std::int64_t total = 0;
    std::vector<std::int64_t> counts = {};
    // The address of run r on member m is at [r * members + m].
    std::vector<std::byte*> inputs = {};
    std::vector<std::byte*> outputs = {};
  };
  struct Sorted {
    Runs runs = {};                   // In the arenas of all members.
    std::vector<Piece> foreign = {};  // All other pieces that have elements.
  };
  // The result is the same on all members, except for addresses.
  static Sorted sort(const Reading& reading, std::span<const Piece> pieces,
                     std::size_t element_bytes);
};

}  // namespace hvd::collective
