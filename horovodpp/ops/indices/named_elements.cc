// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/named_elements.h"

#include <atomic>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

// Whether n indices, `step` apart, are all within `size`. Without branches, so
// that the loop is short.
bool are_within(const std::int64_t* named, std::int64_t n, std::int64_t step,
                std::int64_t size) {
  // A negative index counts as a very large one.
  const auto limit = static_cast<std::uint64_t>(size);
  bool within = true;
  for (std::int64_t i = 0; i < n; ++i) {
    within &= static_cast<std::uint64_t>(named[i * step]) < limit;
  }
  return within;
}

void check_range(const Tensor& index, const NamedDim& along,
                 const char* operation) {
  const std::int64_t size = along.size;
  const auto* named = index.data<std::int64_t>();
  const auto walk = walk_as_stored<1>(index.shape(), {index.strides()});
  const std::int64_t n = walk.row_size(), step = walk.row_steps()[0];
  std::atomic<bool> within{true};
  if (walk.rows() == 1) {
    parallel_for({.count = n}, [&](std::int64_t begin, std::int64_t end) {
      if (!are_within(named + begin * step, end - begin, step, size)) {
        within = false;
      }
    });
  } else {
    for_each_row_in_parallel(walk, [&](const auto& at) {
      if (!are_within(named + at[0], n, step, size)) within = false;
    });
  }
  if (!within) throw_outside(index, along, operation);
}

}  // namespace

bool has_scalar(std::initializer_list<Tensor> tensors) {
  bool found = false;
  for (const Tensor& x : tensors) {
    if (!x.defined() || x.dim() > 1) return false;
    found = found || x.dim() == 0;
  }
  return found;
}

Tensor as_row(const Tensor& x) { return view(x, {x.num_elements()}); }

void throw_outside(const Tensor& index, const NamedDim& along,
                   const char* operation) {
  std::int64_t found = along.size;
  for (const std::int64_t k : index.to_vector<std::int64_t>()) {
    if (k >= 0 && k < along.size) continue;
    found = k;
    break;
  }
  throw InvalidArgument(absl::StrCat(operation, ": index ", found,
                                     " is not within the ", along.size,
                                     " elements of dimension ", along.dim));
}

NamedDim check_named_shape(const Tensor& x, std::int64_t dim,
                           const Tensor& index, const char* operation) {
  check_defined(x, operation);
  check_defined(index, operation);
  const std::size_t d = checked_dim(dim, x.shape().size(), operation);
  bool fits = index.dtype() == DType::kI64 && index.dim() == x.dim();
  for (std::size_t k = 0; fits && k < x.shape().size(); ++k) {
    fits = k == d || index.shape()[k] <= x.shape()[k];
  }
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        operation, ": an index ", index.describe(), " does not go with ",
        x.describe(), " along dimension ", d,
        "; wanted is int64 of as many dimensions, the others no larger"));
  }
  const NamedDim along{d, x.shape()[d]};
  if (along.size == 0 && index.num_elements() != 0) {
    throw_outside(index, along, operation);
  }
  return along;
}

std::size_t check_named(const Tensor& x, std::int64_t dim, const Tensor& index,
                        const char* operation) {
  const NamedDim along = check_named_shape(x, dim, index, operation);
  check_range(index, along, operation);
  return along.dim;
}

bool for_each_named_row(const Tensor& index, Dims strides, const Dims& other,
                        const NamedDim& along,
                        absl::FunctionRef<bool(const NamedRow&)> loop) {
  const Dims& shape = index.shape();
  if (shape.product() == 0) return true;
  const std::size_t dim = along.dim;
  NamedRow first{};
  first.step = strides[dim];
  first.limit = static_cast<std::uint64_t>(along.size);
  strides[dim] = 0;
  // Threads share out the largest other dimension.
  std::size_t shared = dim;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != dim && (shared == dim || shape[d] > shape[shared])) shared = d;
  }
  const auto* named = index.data<std::int64_t>();
  std::atomic<bool> all_within{true};
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    Dims part = shape;
    part[shared] = end - begin;
    const Walk<3> walk(part, {strides, index.strides(), other});
    NamedRow row = first;
    row.size = walk.row_size();
    row.x_step = walk.row_steps()[0];
    row.index_step = walk.row_steps()[1];
    row.other_step = walk.row_steps()[2];
    walk.for_each_row([&](const auto& at) {
      row.x = begin * strides[shared] + at[0];
      row.named = named + begin * index.strides()[shared] + at[1];
      row.other = begin * other[shared] + at[2];
      if (!loop(row)) all_within = false;
    });
  };
  const std::int64_t count = shape[shared];
  if (shared == dim) {
    run(0, count);
  } else {
    parallel_for({.count = count, .cost = shape.product() / count}, run);
  }
  return all_within;
}

bool add_named(const Tensor& x, const Tensor& index, const Tensor& source,
               std::size_t dim) {
  const Tensor sums = widened(x.detach());
  const Tensor wide = widened(source.detach());
  bool within = true;
  visit_arithmetic(sums.dtype(), "scatter_add", [&]<typename T>(TypeTag<T>) {
    if constexpr (sizeof(Loaded<T>) == sizeof(T)) {
      T* to = sums.data<T>();
      const T* from = wide.data<T>();
      within = for_each_named(index, sums.strides(), wide.strides(),
                              {dim, x.shape()[dim]}, [=](auto at, auto other) {
                                to[at] = static_cast<T>(to[at] + from[other]);
                              });
    }
  });
  if (sums.raw_data() != x.raw_data()) convert_into(x, sums);
  return within;
}

Tensor part_for(const Tensor& index, const Tensor& source,
                const char* operation) {
  bool fits = source.dim() == index.dim();
  for (std::size_t d = 0; fits && d < index.shape().size(); ++d) {
    fits = source.shape()[d] >= index.shape()[d];
  }
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        operation, ": a source of shape ", source.shape().to_string(),
        " is smaller than the index, ", index.shape().to_string()));
  }
  Tensor part = source;
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    if (part.size(d) != index.size(d)) part = narrow(part, d, 0, index.size(d));
  }
  return part;
}

}  // namespace hvd::autograd
