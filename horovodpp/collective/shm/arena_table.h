// SPDX-License-Identifier: Apache-2.0
// An ArenaTable is what a rank tells the others, in its slot of a step, about
// where its pieces of a fused call lie, and which arenas it can reach. From all
// ranks' tables each rank sees, like all others, which pieces can be reduced
// where they lie.
//
//   ArenaTable::write(slot, map, pieces, element_bytes);
//   ...                                         // all have arrived
//   const auto sorted = ArenaTable::sort(reading, pieces, element_bytes);
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/shm/arena_map.h"

namespace hvd::collective {

class ArenaTable {
 public:
  // Whether a slot has room for a table of one piece or more; pieces that it has no
  // room for count as lying elsewhere.
  static bool fits(std::size_t slot_bytes, std::size_t ranks);

  // What a table of so many pieces takes of a slot that has room for it.
  static std::size_t bytes_needed(std::size_t pieces, std::size_t ranks);

  // Also lists and maps what is new in the arenas.
  static void write(std::span<std::byte> slot, ArenaMap& map,
                    std::span<const Piece> pieces, std::size_t element_bytes);

  // Whether any, or all, of the `pieces` that a table in `slot`, with room for all,
  // tells of lie outside of its rank's arena.
  enum class Share { kAny, kAll };
  static bool tells_of_foreign(std::span<const std::byte> slot,
                               std::size_t pieces, std::size_t ranks,
                               Share share);

  struct Reading {
    const ArenaMap& map;
    // The ranks of the call, numbered as in the map, and the slot of each.
    std::span<const int> members;
    std::span<const std::span<const std::byte>> slots;
    std::size_t ranks;  // In the map.
  };
  // Where the inputs of a call's pieces lie.
  class Inputs {
   public:
    // `reading` outlives it; the tables tell of `pieces`, each as input and
    // output alike.
    Inputs(const Reading& reading, std::size_t pieces);
    // Puts where each member has the input of a piece, `bytes` long, into
    // `addresses`; false, on all members, if that is not in the arenas of all.
    bool find(std::size_t piece, std::size_t bytes,
              std::span<const void*> addresses) const;
    // Where the m-th member has the first `bytes` of a piece's input; nullptr, on
    // all members, if not all of them reach that.
    std::byte* at(std::size_t m, std::size_t piece, std::size_t bytes) const;

   private:
    const Reading& reading_;
    const std::size_t told_;
    const std::vector<std::uint32_t> usable_;
  };

  // Elements that lie together in the memory of every member.
  struct Runs {
    std::int64_t total = 0;
    std::vector<std::int64_t> counts = {};
    // Of run r and the m-th member: [r * members + m].
    std::vector<std::byte*> inputs = {};
    std::vector<std::byte*> outputs = {};
  };
  struct Sorted {
    Runs runs = {};                   // In the arenas of all,
    std::vector<Piece> foreign = {};  // and the others, with elements.
  };
  // The same on all members, but for addresses.
  static Sorted sort(const Reading& reading, std::span<const Piece> pieces,
                     std::size_t element_bytes);
};

}  // namespace hvd::collective
