// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Adasum (Maleki et al., "Scaling Distributed Training with
// Adaptive Summation", MLSys 2021). It combines two orthogonal vectors to their
// sum, and two parallel vectors to their average.
//
//   (1 - a.b / 2|a|^2) a  +  (1 - a.b / 2|b|^2) b
//
// A zero vector has the factor 1, so zeros have no effect. An infinity or a NaN
// in either vector makes all of the result NaN.
//
// Vectors are of f32 or f64; their products and sums are computed in double.
// Equal arguments give equal bits. Stateless, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/core/dtype.h"

namespace hvd::collective {

// The dot products of two vectors. Their units keep the squares of very large
// and very small numbers within a double: of a.a, 2^(2 * a_exponent), of a.b,
// 2^(a_exponent + b_exponent). Sent between ranks.
struct PairProducts {
  static constexpr std::int32_t kLowestExponent = -1000;

  double ab = 0;
  double aa = 0;
  double bb = 0;
  std::int32_t a_exponent = kLowestExponent;
  std::int32_t b_exponent = kLowestExponent;
};

// The products of `count` elements of `dtype`; zero is legal.
PairProducts products_of(DType dtype, const void* a, const void* b,
                         std::int64_t count);

// The products of vectors in two parts. The same bits in either order.
PairProducts sum_of(const PairProducts& left, const PairProducts& right);

// Writes the combination of `a` and `b` to `result`, which may be `a` or `b`,
// `count` elements; `products` are the products of the whole vectors.
void merge_pair(DType dtype, const void* a, const void* b, void* result,
                std::int64_t count, const PairProducts& products);

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
