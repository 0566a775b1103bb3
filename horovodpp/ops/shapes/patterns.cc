// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shapes/patterns.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;

namespace {

void check_size(std::int64_t size, const char* operation) {
  if (size >= 0) return;
  throw InvalidArgument(
      absl::StrCat(operation, ": ", size, " elements are too few"));
}

// A tensor of element(i) for i = 0 … steps - 1.
template <typename F>
Tensor tabulated(std::int64_t steps, const TensorOptions& options,
                 const char* operation, F element) {
  check_size(steps, operation);
  Tensor out = empty({steps}, {.dtype = options.dtype});
  visit(options.dtype, [&]<typename T>(TypeTag<T>) {
    T* to = out.data<T>();
    for (std::int64_t i = 0; i < steps; ++i) {
      to[i] = autograd::scalar_to<T>(element(i));
    }
  });
  return options.requires_grad ? out.set_requires_grad(true) : out;
}

// The two halves are computed from their ends, so that both are exact.
double at_step(double start, double end, std::int64_t steps, std::int64_t i) {
  if (steps == 1) return start;
  const double step = (end - start) / static_cast<double>(steps - 1);
  return i < steps / 2 ? start + step * static_cast<double>(i)
                       : end - step * static_cast<double>(steps - 1 - i);
}

// Rows and columns of the elements for which kept(column - row).
template <typename F>
Tensor places_of(std::int64_t rows, std::int64_t columns, const char* operation,
                 F kept) {
  check_size(rows, operation);
  check_size(columns, operation);
  std::vector<std::int64_t> places, in_columns;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      if (!kept(c - r)) continue;
      places.push_back(r);
      in_columns.push_back(c);
    }
  }
  const auto count = static_cast<std::int64_t>(places.size());
  places.insert(places.end(), in_columns.begin(), in_columns.end());
  return from_vector(places, {2, count});
}

}  // namespace

Tensor eye(std::int64_t rows, std::int64_t columns,
           const TensorOptions& options) {
  check_size(rows, "eye");
  check_size(columns, "eye");
  Tensor out = zeros({rows, columns}, {.dtype = options.dtype});
  diagonal(out.detach()).data().fill_(1.0);
  return options.requires_grad ? out.set_requires_grad(true) : out;
}

Tensor eye(std::int64_t rows, const TensorOptions& options) {
  return eye(rows, rows, options);
}

Tensor linspace(double start, double end, std::int64_t steps,
                const TensorOptions& options) {
  return tabulated(steps, options, "linspace", [=](std::int64_t i) {
    return at_step(start, end, steps, i);
  });
}

Tensor logspace(double start, double end, std::int64_t steps, double base,
                const TensorOptions& options) {
  return tabulated(steps, options, "logspace", [=](std::int64_t i) {
    return std::pow(base, at_step(start, end, steps, i));
  });
}

Tensor full_like(const Tensor& like, double value) {
  autograd::check_defined(like, "full_like");
  return full(like.shape(), value, {.dtype = like.dtype()});
}

Tensor rand_like(const Tensor& like) {
  autograd::check_defined(like, "rand_like");
  return rand(like.shape(), {.dtype = like.dtype()});
}

Tensor randn_like(const Tensor& like) {
  autograd::check_defined(like, "randn_like");
  return randn(like.shape(), {.dtype = like.dtype()});
}

Tensor tril_indices(std::int64_t rows, std::int64_t columns,
                    std::int64_t offset) {
  return places_of(rows, columns, "tril_indices",
                   [=](std::int64_t d) { return d <= offset; });
}

Tensor triu_indices(std::int64_t rows, std::int64_t columns,
                    std::int64_t offset) {
  return places_of(rows, columns, "triu_indices",
                   [=](std::int64_t d) { return d >= offset; });
}

Tensor one_hot(const Tensor& labels, std::int64_t classes) {
  autograd::check_defined(labels, "one_hot");
  if (labels.dtype() != DType::kI64) {
    autograd::throw_bad_dtype(labels.dtype(), "one_hot: its labels", "int64");
  }
  autograd::report_reads(labels);
  const auto all = labels.to_vector<std::int64_t>();
  if (classes == -1 && !all.empty()) {
    classes = *std::max_element(all.begin(), all.end());
    if (classes < INT64_MAX) ++classes;
  }
  if (classes <= 0) {
    throw InvalidArgument(absl::StrCat(
        "one_hot: ", classes, " classes for ", labels.describe(),
        "; wanted is a positive number, or -1 for labels that are not empty"));
  }
  Dims shape = labels.shape();
  shape.push_back(classes);
  for (std::int64_t label : all) {
    if (label >= 0 && label < classes) continue;
    throw InvalidArgument(absl::StrCat("one_hot: label ", label,
                                       " is not one of ", classes, " classes"));
  }
  Tensor out = zeros(shape, {.dtype = DType::kI64});
  auto* to = out.data<std::int64_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    to[static_cast<std::int64_t>(i) * classes + all[i]] = 1;
  }
  return out;
}

}  // namespace hvd
