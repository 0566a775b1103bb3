// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/sparse_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace {

using autograd::Dims;

Dims with_rows(const Dims& shape, std::int64_t rows) {
  Dims result = shape;
  result[0] = rows;
  return result;
}

std::int64_t row_elements(const Dims& shape) {
  std::int64_t result = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) result *= shape[d];
  return result;
}

Tensor converted(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor result = empty(x.shape(), {.dtype = dtype});
  autograd::convert_into(result, x);
  return result;
}

bool is_coalesced(const SparseRows& x) {
  const auto* rows = x.rows.data<std::int64_t>();
  return std::adjacent_find(rows, rows + x.rows.num_elements(),
                            [](std::int64_t a, std::int64_t b) {
                              return a >= b;
                            }) == rows + x.rows.num_elements();
}

// Row places[i] of `out` += row i of the values.
void add_rows(const Tensor& out, const Tensor& values,
              const std::int64_t* places) {
  const std::int64_t width = row_elements(values.shape());
  autograd::visit_floating(values.dtype(), "sparse rows",
                           [&]<typename T>(TypeTag<T>) {
                             const T* from = values.data<T>();
                             for (std::int64_t i = 0; i < values.size(0); ++i) {
                               T* to = out.data<T>() + places[i] * width;
                               for (std::int64_t k = 0; k < width; ++k)
                                 to[k] += *from++;
                             }
                           });
}

template <typename IsWanted>
SparseRows picked_rows(const Tensor& x, IsWanted is_wanted) {
  const Tensor in = x.detach().contiguous();
  const std::size_t row =
      static_cast<std::size_t>(row_elements(x.shape())) * size_of(x.dtype());
  const auto* bytes = static_cast<const std::byte*>(in.raw_data());
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    if (is_wanted(in, i)) rows.push_back(i);
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor values = empty(with_rows(x.shape(), count), {.dtype = x.dtype()});
  auto* to = static_cast<std::byte*>(values.raw_data());
  for (std::int64_t i : rows) {
    if (row > 0)
      std::memcpy(to, bytes + static_cast<std::size_t>(i) * row, row);
    to += row;
  }
  return {from_vector(rows, {count}), values, x.shape()};
}

}  // namespace

void check_sparse_rows(const SparseRows& x, const char* what) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument(absl::StrCat(what, ": ", why));
  };
  if (!x.rows.defined() || !x.values.defined() || x.shape.empty()) {
    refuse(
        "sparse rows need rows, values and a shape of one dimension or more");
  }
  if (x.rows.dtype() != DType::kI64 || x.rows.dim() != 1 ||
      !x.rows.is_contiguous()) {
    refuse(absl::StrCat("rows ", x.rows.describe(), " are not int64[n]"));
  }
  const Dims expected = with_rows(x.shape, x.rows.num_elements());
  if (x.values.shape() != expected || !is_floating_point(x.values.dtype()) ||
      !x.values.is_contiguous()) {
    refuse(absl::StrCat("values ", x.values.describe(), " are not of ",
                        expected.to_string(),
                        ", contiguous and floating point"));
  }
  const auto* rows = x.rows.data<std::int64_t>();
  for (std::int64_t i = 0; i < x.rows.num_elements(); ++i) {
    if (rows[i] >= 0 && rows[i] < x.shape[0]) continue;
    refuse(absl::StrCat("row ", rows[i], " is none of ", x.shape[0]));
  }
}

SparseRows no_rows(const Dims& shape, DType dtype) {
  return {empty({0}, {.dtype = DType::kI64}),
          empty(with_rows(shape, 0), {.dtype = dtype}), shape};
}

SparseRows all_rows(const Tensor& x) {
  return picked_rows(x, [](const Tensor&, std::int64_t) { return true; });
}

SparseRows nonzero_rows(const Tensor& x) {
  const std::int64_t width = row_elements(x.shape());
  return picked_rows(x, [width](const Tensor& in, std::int64_t i) {
    bool found = false;
    autograd::visit_any_floating(
        in.dtype(), "sparse rows", [&]<typename T>(TypeTag<T>) {
          const T* row = in.data<T>() + i * width;
          // Written so that NaN counts as nonzero.
          found = std::any_of(row, row + width, [](T value) {
            return !(static_cast<float>(value) == 0.0f);
          });
        });
    return found;
  });
}

SparseRows coalesced(const SparseRows& x) {
  if (is_coalesced(x)) return x;
  const auto count = static_cast<std::size_t>(x.rows.num_elements());
  const auto* rows = x.rows.data<std::int64_t>();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(),
      [rows](std::size_t a, std::size_t b) { return rows[a] < rows[b]; });
  std::vector<std::int64_t> kept;
  std::vector<std::int64_t> places(count);  // The result's row for each value.
  for (const std::size_t i : order) {
    if (kept.empty() || kept.back() != rows[i]) kept.push_back(rows[i]);
    places[i] = static_cast<std::int64_t>(kept.size()) - 1;
  }
  const Tensor values = autograd::widened(x.values);
  const auto size = static_cast<std::int64_t>(kept.size());
  const Tensor sums =
      zeros(with_rows(x.shape, size), {.dtype = values.dtype()});
  add_rows(sums, values, places.data());
  return {from_vector(kept, {size}), converted(sums, x.values.dtype()),
          x.shape};
}

SparseRows joined(const SparseRows& a, const SparseRows& b) {
  if (a.shape != b.shape || a.values.dtype() != b.values.dtype()) {
    throw InvalidArgument(
        absl::StrCat("rows of ", a.shape.to_string(), " and of ",
                     b.shape.to_string(), ", values ", a.values.describe(),
                     " and ", b.values.describe(), ", cannot be joined"));
  }
  const std::int64_t count = a.rows.num_elements() + b.rows.num_elements();
  const SparseRows result = {
      empty({count}, {.dtype = DType::kI64}),
      empty(with_rows(a.shape, count), {.dtype = a.values.dtype()}), a.shape};
  const auto append = [](const Tensor& to, const Tensor& x, const Tensor& y) {
    auto* bytes = static_cast<std::byte*>(to.raw_data());
    if (x.bytes() > 0) std::memcpy(bytes, x.raw_data(), x.bytes());
    if (y.bytes() > 0) std::memcpy(bytes + x.bytes(), y.raw_data(), y.bytes());
  };
  append(result.rows, a.rows, b.rows);
  append(result.values, a.values, b.values);
  return result;
}

Tensor dense(const SparseRows& x) {
  const Tensor values = autograd::widened(x.values);
  const Tensor sums = zeros(x.shape, {.dtype = values.dtype()});
  add_rows(sums, values, x.rows.data<std::int64_t>());
  return converted(sums, x.values.dtype());
}

}  // namespace hvd
