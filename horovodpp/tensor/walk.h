// SPDX-License-Identifier: Apache-2.0
// The loops under the operations. A Walk steps through several tensors of one
// shape together, for any strides, in as few and as long rows as possible. The
// row loops are written so that the compiler vectorizes the common cases.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

#include "absl/functional/function_ref.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The strides of a tensor broadcast to shape `to`: 0 where it repeats.
Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& to);
inline Dims broadcast_strides(const Tensor& tensor, const Dims& to) {
  return broadcast_strides(tensor.shape(), tensor.strides(), to);
}

template <std::size_t N>
class Walk {
 public:
  using Offsets = std::array<std::int64_t, N>;

  // Drops dimensions of one element, and merges neighbors where all tensors
  // allow.
  Walk(const Dims& shape, const std::array<Dims, N>& strides) {
    empty_ = shape.product() == 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      if (rank_ > 0 && continues(strides, d, shape[d])) {
        sizes_[rank_ - 1] *= shape[d];
      } else {
        sizes_[rank_++] = shape[d];
      }
      for (std::size_t k = 0; k < N; ++k) steps_[rank_ - 1][k] = strides[k][d];
    }
    if (rank_ == 0) {
      rank_ = 1;
      sizes_[0] = 1;
      steps_[0] = {};
    }
  }

  // Elements of a row, and their stride in each tensor.
  std::int64_t row_size() const { return sizes_[rank_ - 1]; }
  const Offsets& row_steps() const { return steps_[rank_ - 1]; }

  // The remaining dimensions, the row last: at least one.
  std::size_t rank() const { return rank_; }
  std::int64_t size(std::size_t d) const { return sizes_[d]; }
  const Offsets& steps(std::size_t d) const { return steps_[d]; }

  std::int64_t rows() const {
    std::int64_t count = empty_ ? 0 : 1;
    for (std::size_t d = 0; d + 1 < rank_; ++d) count *= sizes_[d];
    return count;
  }

  // Calls `row(offsets)` with the offsets of each row's first elements.
  template <typename Row>
  void for_each_row(Row row) const {
    for_rows(0, rows(), row);
  }

  // The same for rows [begin, end) alone, in order.
  template <typename Row>
  void for_rows(std::int64_t begin, std::int64_t end, Row row) const {
    if (begin >= end) return;
    std::array<std::int64_t, Dims::kMax> index{};
    Offsets offsets{};
    if (begin > 0) start_at(begin, index, offsets);
    for (std::int64_t at = begin;;) {
      row(static_cast<const Offsets&>(offsets));
      if (++at == end) return;
      std::size_t d = rank_ - 1;
      while (d > 0) {
        --d;
        for (std::size_t k = 0; k < N; ++k) offsets[k] += steps_[d][k];
        if (++index[d] < sizes_[d]) break;
        for (std::size_t k = 0; k < N; ++k) {
          offsets[k] -= steps_[d][k] * sizes_[d];
        }
        index[d] = 0;
      }
    }
  }

 private:
  // The index and offsets of a row.
  void start_at(std::int64_t row, std::array<std::int64_t, Dims::kMax>& index,
                Offsets& offsets) const {
    for (std::size_t d = rank_ - 1; d-- > 0; row /= sizes_[d]) {
      index[d] = row % sizes_[d];
      for (std::size_t k = 0; k < N; ++k) offsets[k] += index[d] * steps_[d][k];
    }
  }

  bool continues(const std::array<Dims, N>& strides, std::size_t d,
                 std::int64_t size) const {
    for (std::size_t k = 0; k < N; ++k) {
      if (steps_[rank_ - 1][k] != strides[k][d] * size) return false;
    }
    return true;
  }

  std::array<std::int64_t, Dims::kMax> sizes_{};
  std::array<Offsets, Dims::kMax> steps_{};
  std::size_t rank_ = 0;
  bool empty_ = false;
};

// A Walk over the same elements in memory order: that of the first tensor and,
// where its strides are 0 or equal, of the others. For loops where order does
// not matter.
template <std::size_t N>
Walk<N> walk_as_stored(const Dims& shape, const std::array<Dims, N>& strides) {
  std::array<std::size_t, Dims::kMax> order;
  bool sorted = true;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto goes_before = [&](std::size_t a, std::size_t b) {
      for (const Dims& steps : strides) {
        const std::int64_t x = std::abs(steps[a]), y = std::abs(steps[b]);
        if (x != 0 && y != 0 && x != y) return x > y;
      }
      return false;
    };
    std::size_t at = d;
    if (shape[d] != 1) {
      while (at > 0 &&
             (shape[order[at - 1]] == 1 || goes_before(d, order[at - 1]))) {
        order[at] = order[at - 1];
        --at;
      }
    }
    sorted &= at == d;
    order[at] = d;
  }
  if (sorted) return Walk<N>(shape, strides);
  Dims moved = shape;
  std::array<Dims, N> steps = strides;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    moved[d] = shape[order[d]];
    for (std::size_t k = 0; k < N; ++k) steps[k][d] = strides[k][order[d]];
  }
  return Walk<N>(moved, steps);
}

// As walk.for_each_row(row), in any order and on the operation's threads. Rows
// must not write the same element, and `row` must not throw.
template <std::size_t N, typename Row>
void for_each_row_in_parallel(const Walk<N>& walk, const Row& row) {
  parallel_for({.count = walk.rows(), .cost = walk.row_size()},
               [&](std::int64_t begin, std::int64_t end) {
                 walk.for_rows(begin, end, row);
               });
}

// Elements at equal distances in each of N tensors.
template <std::size_t N>
struct StridedRow {
  std::array<std::int64_t, N> at{};     // Offsets of the first elements.
  std::array<std::int64_t, N> steps{};  // Strides.
  std::int64_t size = 0;                // Elements.
};

// Calls `loop` for rows that together cover all elements of the tensors, in any
// order. The operation's threads call `loop` concurrently. `a` and `b`
// broadcast to `out`.
void for_each_row(const Tensor& out, const Tensor& a,
                  absl::FunctionRef<void(const StridedRow<2>&)> loop);
void for_each_row(const Tensor& out, const Tensor& a, const Tensor& b,
                  absl::FunctionRef<void(const StridedRow<3>&)> loop);

void check_defined(const Tensor& tensor, const char* operation);

// InvalidArgument if a tensor is undefined or the dtypes differ.
void check_same_dtype(const Tensor& a, const Tensor& b, const char* operation);

// A new tensor with the broadcast shape of `a` and `b` and the dtype of a, on
// the GPU of one of them, if any. Its layout is that of an input with that shape,
// if any.
//   InvalidArgument  they do not broadcast; names `operation`
Tensor empty_for(const Tensor& a, const Tensor& b, const char* operation);

}  // namespace hvd::autograd
