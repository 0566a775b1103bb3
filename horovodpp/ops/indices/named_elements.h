// SPDX-License-Identifier: Apache-2.0
// Loops of gather() and the scatter functions: an index names an element of x
// along one dimension.
#pragma once

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

// Checks shapes and indices; returns `dim` counted from the front.
//   InvalidArgument  the index does not go with x, or is out of range
std::size_t check_named(const Tensor& x, std::int64_t dim, const Tensor& index,
                        const char* operation);

// The part of `source` that matches `index`.
//   InvalidArgument  `source` is smaller
Tensor part_for(const Tensor& index, const Tensor& source,
                const char* operation);

// Calls f(offset, other offset) for each index, which check_named() checked.
// The first offset is in a tensor of these strides, the second in a tensor
// shaped like `index` with strides `other`. Threads call f at once, but for one
// element of the first tensor in the order of the index.
template <typename F>
void for_each_named(const Tensor& index, Dims strides, const Dims& other,
                    std::size_t dim, F f) {
  const Dims& shape = index.shape();
  const std::int64_t step = strides[dim];
  strides[dim] = 0;
  // Threads share out the largest other dimension.
  std::size_t shared = dim;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != dim && (shared == dim || shape[d] > shape[shared])) shared = d;
  }
  const auto* named = index.data<std::int64_t>();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Dims part = shape;
    part[shared] = end - begin;
    const Walk<3> walk(part, {strides, index.strides(), other});
    const auto [sx, si, so] = walk.row_steps();
    const std::int64_t first_x = begin * strides[shared];
    const std::int64_t first_i = begin * index.strides()[shared];
    const std::int64_t first_o = begin * other[shared];
    walk.for_each_row([&, sx = sx, si = si, so = so](const auto& at) {
      for (std::int64_t i = 0; i < walk.row_size(); ++i) {
        const std::int64_t k = named[first_i + at[1] + i * si];
        f(first_x + at[0] + i * sx + k * step, first_o + at[2] + i * so);
      }
    });
  };
  const std::int64_t count = shape[shared];
  if (shape.product() == 0) return;
  if (shared == dim) {
    run(0, count);
  } else {
    parallel_for({.count = count, .cost = shape.product() / count}, run);
  }
}

}  // namespace hvd::autograd
