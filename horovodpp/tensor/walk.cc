// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/walk.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

template <std::size_t N>
using StridedLoop = absl::FunctionRef<void(const StridedRow<N>&)>;

// One row, in parts.
template <std::size_t N>
void split_row(const StridedRow<N>& row, StridedLoop<N> loop) {
  parallel_for({.count = row.size}, [&](std::int64_t begin, std::int64_t end) {
    StridedRow<N> part = row;
    for (std::size_t k = 0; k < N; ++k) part.at[k] += begin * row.steps[k];
    part.size = end - begin;
    loop(part);
  });
}

template <std::size_t N>
void walk_rows(const Dims& shape, const std::array<Dims, N>& strides,
               StridedLoop<N> loop) {
  const auto walk = walk_as_stored<N>(shape, strides);
  const StridedRow<N> first = {
      .at = {}, .steps = walk.row_steps(), .size = walk.row_size()};
  if (walk.rows() == 1) return split_row(first, loop);
  for_each_row_in_parallel(walk, [&](const auto& at) {
    StridedRow<N> row = first;
    row.at = at;
    loop(row);
  });
}

bool stored_alike(const Tensor& out, const Tensor& x) {
  return x.is_contiguous() && x.shape() == out.shape();
}

}  // namespace

Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& to) {
  Dims result = Dims::filled(to.size(), 0);
  const std::size_t missing = to.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == to[missing + i]) result[missing + i] = strides[i];
  }
  return result;
}

Tensor empty_for(const Tensor& a, const Tensor& b, const char* operation) {
  // A number on the CPU goes with tensors of any device.
  const bool is_of_a = b.device().is_cpu() || !a.device().is_cpu();
  if (is_of_a && a.shape() == b.shape()) return empty_like(a);
  const Device device = is_of_a ? a.device() : b.device();
  const Dims shape = broadcast(a.shape(), b.shape(), operation);
  if (is_of_a && shape == a.shape()) return empty_like(a);
  if (shape == b.shape()) {
    return empty_strided(shape, strides_like(shape, b.strides()), a.dtype(),
                         device);
  }
  return empty(shape, {.dtype = a.dtype(), .device = device});
}

void check_defined(const Tensor& tensor, const char* operation) {
  if (!tensor.defined()) {
    throw InvalidArgument(absl::StrCat(operation, ": a tensor is undefined"));
  }
}

void check_same_dtype(const Tensor& a, const Tensor& b, const char* operation) {
  check_defined(a, operation);
  check_defined(b, operation);
  if (a.dtype() != b.dtype()) {
    throw InvalidArgument(
        absl::StrCat(operation, ": ", a.describe(), " and ", b.describe(),
                     " differ in dtype; convert one of them with to()"));
  }
}

void for_each_row(const Tensor& out, const Tensor& a, StridedLoop<2> loop) {
  if (out.is_contiguous() && stored_alike(out, a)) {
    return split_row<2>({.steps = {1, 1}, .size = out.num_elements()}, loop);
  }
  walk_rows<2>(out.shape(), {out.strides(), broadcast_strides(a, out.shape())},
               loop);
}

void for_each_row(const Tensor& out, const Tensor& a, const Tensor& b,
                  StridedLoop<3> loop) {
  if (out.is_contiguous() && stored_alike(out, a) && stored_alike(out, b)) {
    return split_row<3>({.steps = {1, 1, 1}, .size = out.num_elements()}, loop);
  }
  walk_rows<3>(out.shape(),
               {out.strides(), broadcast_strides(a, out.shape()),
                broadcast_strides(b, out.shape())},
               loop);
}

}  // namespace hvd::autograd
