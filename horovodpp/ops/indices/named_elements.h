// SPDX-License-Identifier: Apache-2.0
// Loops of gather() and the scatter functions: an index names an element of x
// along one dimension.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "horovodpp/kernel/parallel.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/walk.h"

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

// Calls f(offset, other offset) for each index. The first offset is in a tensor
// of these strides, the second in a tensor shaped like `index` with strides
// `other`. Threads call f at once, but for one element of the first tensor in
// the order of the index. Returns false if an index is not below `size`, which
// is positive; it then counted as 0.
template <typename F>
bool for_each_named(const Tensor& index, Dims strides, const Dims& other,
                    const NamedDim& along, F f) {
  const Dims& shape = index.shape();
  const std::size_t dim = along.dim;
  const std::int64_t step = strides[dim];
  strides[dim] = 0;
  // Threads share out the largest other dimension.
  std::size_t shared = dim;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != dim && (shared == dim || shape[d] > shape[shared])) shared = d;
  }
  const auto* named = index.data<std::int64_t>();
  const auto limit = static_cast<std::uint64_t>(along.size);
  std::atomic<bool> all_within{true};
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Dims part = shape;
    part[shared] = end - begin;
    const Walk<3> walk(part, {strides, index.strides(), other});
    const auto [sx, si, so] = walk.row_steps();
    const std::int64_t first_x = begin * strides[shared];
    const std::int64_t first_i = begin * index.strides()[shared];
    const std::int64_t first_o = begin * other[shared];
    bool within = true;
    const auto checked = [&](std::int64_t k) {
      // A negative index counts as a very large one.
      const bool is_within = static_cast<std::uint64_t>(k) < limit;
      within &= is_within;
      return is_within ? k : 0;
    };
    const bool is_plain = sx == 0 && si == 1 && so == 1 && step == 1;
    walk.for_each_row([&, sx = sx, si = si, so = so](const auto& at) {
      const std::int64_t x = first_x + at[0], o = first_o + at[2];
      const std::int64_t* row = named + first_i + at[1];
      if (is_plain) {  // Along the last dimension.
        for (std::int64_t i = 0; i < walk.row_size(); ++i) {
          f(x + checked(row[i]), o + i);
        }
        return;
      }
      for (std::int64_t i = 0; i < walk.row_size(); ++i) {
        f(x + i * sx + checked(row[i * si]) * step, o + i * so);
      }
    });
    if (!within) all_within = false;
  };
  const std::int64_t count = shape[shared];
  if (shape.product() == 0) return true;
  if (shared == dim) {
    run(0, count);
  } else {
    parallel_for({.count = count, .cost = shape.product() / count}, run);
  }
  return all_within;
}

// Adds the elements of `source`, shaped like `index`, to the named ones of x,
// in float32 for 16-bit types. Returns as for_each_named().
bool add_named(const Tensor& x, const Tensor& index, const Tensor& source,
               std::size_t dim);

}  // namespace hvd::autograd
