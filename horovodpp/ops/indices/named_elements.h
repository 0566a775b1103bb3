// SPDX-License-Identifier: Apache-2.0
// Loops of gather() and the scatter functions: an index names an element of x
// along one dimension.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Whether all have at most one dimension, and some has none: a scalar counts as
// a vector of one.
bool has_scalar(std::initializer_list<Tensor> tensors);
Tensor as_row(const Tensor& x);

// The dimension that an index names, counted from the front, and its size.
struct NamedDim {
  std::size_t dim;
  std::int64_t size;
};

// Checks shapes.
//   InvalidArgument  the index does not go with x, or x has no element to name
NamedDim check_named_shape(const Tensor& x, std::int64_t dim,
                           const Tensor& index, const char* operation);
// Checks shapes and indices; returns `dim` counted from the front.
//   InvalidArgument  as above, or an index is out of range
std::size_t check_named(const Tensor& x, std::int64_t dim, const Tensor& index,
                        const char* operation);
// For indices of which one is out of range.
[[noreturn]] void throw_outside(const Tensor& index, const NamedDim& along,
                                const char* operation);

// The part of `source` that matches `index`.
//   InvalidArgument  `source` is smaller
Tensor part_for(const Tensor& index, const Tensor& source,
                const char* operation);

// Indices of one row, and where their elements lie.
struct NamedRow {
  const std::int64_t* named;  // The first index.
  std::int64_t index_step;
  std::int64_t x;  // Offset of the element that index 0 names.
  std::int64_t x_step;
  std::int64_t other;  // Offset in a tensor shaped like the index.
  std::int64_t other_step;
  std::int64_t size;  // Indices.
  std::int64_t step;  // Between the elements of x that indices name.
  std::uint64_t limit;
};

// Calls `loop` for the rows of `index`. `strides` are those of x, `other` those
// of a tensor shaped like `index`. Threads call `loop` concurrently, but
// visit the indices of one element of x in order. Returns false if `loop` did.
bool for_each_named_row(const Tensor& index, Dims strides, const Dims& other,
                        const NamedDim& along,
                        absl::FunctionRef<bool(const NamedRow&)> loop);

// Calls f(offset in x, other offset) for each index of the row. Returns false
// if an index is out of range; f was then called as if the index were 0.
template <typename F>
bool for_each_named(const NamedRow& row, F f) {
  bool within = true;
  const auto checked = [&](std::int64_t k) {
    // As unsigned, a negative index is very large.
    const bool is_within = static_cast<std::uint64_t>(k) < row.limit;
    within &= is_within;
    return is_within ? k : 0;
  };
  if (row.x_step == 0 && row.index_step == 1 && row.other_step == 1 &&
      row.step == 1) {  // Along the last dimension.
    for (std::int64_t i = 0; i < row.size; ++i) {
      f(row.x + checked(row.named[i]), row.other + i);
    }
    return within;
  }
  for (std::int64_t i = 0; i < row.size; ++i) {
    f(row.x + i * row.x_step +
          checked(row.named[i * row.index_step]) * row.step,
      row.other + i * row.other_step);
  }
  return within;
}

// The same for all indices of a tensor, whose size along the dimension is
// positive.
template <typename F>
bool for_each_named(const Tensor& index, const Dims& strides, const Dims& other,
                    const NamedDim& along, F f) {
  return for_each_named_row(
      index, strides, other, along,
      [&](const NamedRow& row) { return for_each_named(row, f); });
}

// Adds the elements of `source`, shaped like `index`, to the named ones of x,
// in float32 for 16-bit types. Returns as for_each_named().
bool add_named(const Tensor& x, const Tensor& index, const Tensor& source,
               std::size_t dim);

}  // namespace hvd::autograd
