// SPDX-License-Identifier: Apache-2.0
// Cuts the pieces of a call into chunks, for memory that is smaller than the
// pieces. A chunk is a list of runs of elements, one behind the other. Equal on
// all ranks if the counts are.
//
//   Chunks chunks(pieces, element_bytes, {.memory_bytes = bytes});
//   for (auto runs = chunks.next(); !runs.empty(); runs = chunks.next()) ...
//
// Borrows the pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/piece.h"

namespace hvd::collective {

struct Run {
  std::size_t piece = 0;
  std::int64_t begin = 0;  // Its first element.
  std::int64_t count = 0;  // The number of elements.
  std::size_t place = 0;   // Byte offset in memory; a multiple of kAlignment.
};

class Chunks {
 public:
  static constexpr std::size_t kAlignment = 16;

  // A chunk's largest number of elements, and its memory. At least one element
  // fits.
  struct Limits {
    std::int64_t elements = std::numeric_limits<std::int64_t>::max();
    std::size_t memory_bytes = std::numeric_limits<std::size_t>::max();
  };
  Chunks(std::span<const Piece> pieces, std::size_t element_bytes,
         const Limits& limits)
      : pieces_(pieces), element_bytes_(element_bytes), limits_(limits) {}

  // The runs of the next chunk; empty at the end.
  std::vector<Run> next() {
    std::vector<Run> runs;
    std::size_t used = 0;
    std::int64_t elements = limits_.elements;
    while (piece_ < pieces_.size()) {
      const std::int64_t left = pieces_[piece_].count - begin_;
      const std::int64_t count = std::min({left, elements, room_behind(used)});
      if (count > 0) {
        runs.push_back({piece_, begin_, count, used});
        const std::size_t end = end_of(runs);
        used = (end + kAlignment - 1) / kAlignment * kAlignment;
        elements -= count;
        begin_ += count;
      }
      if (count < left) break;
      ++piece_;
      begin_ = 0;
    }
    return runs;
  }

  // The number of bytes of memory that `runs` take.
  std::size_t end_of(std::span<const Run> runs) const {
    if (runs.empty()) return 0;
    return runs.back().place +
           static_cast<std::size_t>(runs.back().count) * element_bytes_;
  }

 private:
  std::int64_t room_behind(std::size_t used) const {
    if (used >= limits_.memory_bytes) return 0;
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const std::size_t room = (limits_.memory_bytes - used) / element_bytes_;
    return static_cast<std::int64_t>(
        std::min(room, static_cast<std::size_t>(kMost)));
  }

  const std::span<const Piece> pieces_;
  const std::size_t element_bytes_;
  const Limits limits_;
  std::size_t piece_ = 0;
  std::int64_t begin_ = 0;
};

}  // namespace hvd::collective
