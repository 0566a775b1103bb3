// SPDX-License-Identifier: Apache-2.0
// An AdasumRow joins the tensors of a round into one row of elements of which
// ranks can own segments. Each tensor is cut into the same number of parts. The
// row has the first parts of all tensors, then all second ones, and so on. So a
// dot product of a tensor is the sum of the same parts, whichever tensors share
// the row.
//
//   const AdasumRow row(tensors, parts, element_bytes);
//   PieceStream inputs(row.pieces(), element_bytes);     // in the row's order
//   row.for_each_run(0, 2, [](std::size_t tensor, const Range& elements) {...});
//
// Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/core/dtype.h"

namespace hvd::collective {

// How many of `tensors` (at least one), from the first, are to go through a
// round together: as many as have `round_bytes` of accumulators.
std::size_t adasum_round_length(std::span<const Piece> tensors, DType dtype,
                                std::size_t round_bytes);

class AdasumRow {
 public:
  // The first parts of a tensor may be longer than the others by an element.
  AdasumRow(std::span<const Piece> tensors, int parts,
            std::size_t element_bytes);

  std::span<const Piece> pieces() const { return pieces_; }

  // The place of a part's first element in the row; of part `parts`: its end.
  std::int64_t begin(int part) const {
    return begins_[static_cast<std::size_t>(part)];
  }

  // Calls f(tensor, place in the row) for each tensor's elements in the parts
  // [first, end), in order; a tensor comes once for each part.
  template <typename F>
  void for_each_run(int first, int end, F f) const {
    const std::size_t last = first_run_[static_cast<std::size_t>(end)];
    std::int64_t at = begin(first);
    for (auto run = first_run_[static_cast<std::size_t>(first)]; run < last;
         ++run) {
      f(tensors_[run], Range{at, pieces_[run].count});
      at += pieces_[run].count;
    }
  }

 private:
  std::vector<Piece> pieces_;         // Runs of elements of one tensor,
  std::vector<std::size_t> tensors_;  // of this tensor.
  std::vector<std::int64_t> begins_;  // For each part.
  std::vector<std::size_t> first_run_;
};

}  // namespace hvd::collective
