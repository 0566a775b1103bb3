// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/named_elements.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"

namespace hvd::autograd {
namespace {

void check_range(const Tensor& index, std::int64_t size, std::size_t dim,
                 const char* operation) {
  const auto* named = index.data<std::int64_t>();
  const auto walk = walk_as_stored<1>(index.shape(), {index.strides()});
  const std::int64_t step = walk.row_steps()[0];
  walk.for_each_row([&](const auto& at) {
    for (std::int64_t i = 0; i < walk.row_size(); ++i) {
      const std::int64_t k = named[at[0] + i * step];
      if (k >= 0 && k < size) continue;
      throw InvalidArgument(absl::StrCat(operation, ": index ", k,
                                         " is not within the ", size,
                                         " elements of dimension ", dim));
    }
  });
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

std::size_t check_named(const Tensor& x, std::int64_t dim, const Tensor& index,
                        const char* operation) {
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
  check_range(index, x.shape()[d], d, operation);
  return d;
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
