// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/distinct.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/order/order_ops.h"
#include "horovodpp/ops/order/sorted_rows.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

using Places = std::vector<std::int64_t>;

// Compares rows of `width` elements.
template <typename T>
struct Rows {
  bool equal(std::int64_t i, std::int64_t j) const {
    return std::equal(
        data + i * width, data + (i + 1) * width, data + j * width,
        [](const T& a, const T& b) { return loaded(a) == loaded(b); });
  }
  bool precedes(std::int64_t i, std::int64_t j) const {
    return std::lexicographical_compare(
        data + i * width, data + (i + 1) * width, data + j * width,
        data + (j + 1) * width,
        [](const T& a, const T& b) { return key_of(a) < key_of(b); });
  }
  const T* data;
  std::int64_t width;
};

// The places of the first row of each run in `order`, which may sort the rows;
// and for each row the number of its run, and the lengths of runs.
std::array<Tensor, 3> runs_of(const Tensor& in, bool sorted) {
  const std::int64_t n = in.size(0);
  Places order(static_cast<std::size_t>(n)), firsts, counts;
  std::iota(order.begin(), order.end(), 0);
  const Tensor inverse = empty({n}, {.dtype = DType::kI64});
  auto* run = inverse.data<std::int64_t>();
  visit(in.dtype(), [&]<typename T>(TypeTag<T>) {
    const Rows<T> rows = {in.data<T>(), n == 0 ? 0 : in.num_elements() / n};
    if (sorted) {
      std::stable_sort(
          order.begin(), order.end(),
          [&](std::int64_t i, std::int64_t j) { return rows.precedes(i, j); });
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || !rows.equal(order[i], order[i - 1])) {
        firsts.push_back(order[i]);
        counts.push_back(0);
      }
      ++counts.back();
      run[order[i]] = static_cast<std::int64_t>(counts.size()) - 1;
    }
  });
  const auto m = static_cast<std::int64_t>(firsts.size());
  return {from_vector(firsts, {m}), inverse, from_vector(counts, {m})};
}

// x with dimension `dim` first, row-major.
Tensor slices_first(const Tensor& x, std::int64_t dim) {
  Dims order{dim};
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (d != dim) order.push_back(d);
  }
  return permute(x, order).contiguous();
}

// Of slices along `dim`.
UniqueResult distinct_slices(const Tensor& x, std::int64_t dim, bool sorted,
                             OperationName operation) {
  report_reads(x);
  auto [values, inverse, counts] = result_of(operation, [&] {
    NoGrad no_grad;
    const Tensor in = x.detach();
    auto [firsts, run, lengths] = runs_of(slices_first(in, dim), sorted);
    return std::array<Tensor, 3>{index_select(in, dim, firsts), run, lengths};
  });
  return {values, inverse, counts};
}

std::int64_t checked_slices(const Tensor& x, std::int64_t dim,
                            const char* operation) {
  check_defined(x, operation);
  const std::size_t along = checked_dim(dim, x.shape().size(), operation);
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    if (d != along && x.shape()[d] == 0 && x.shape()[along] > 0) {
      throw InvalidArgument(absl::StrCat(operation, ": slices of ",
                                         x.describe(), " along dimension ",
                                         along, " have no elements"));
    }
  }
  return static_cast<std::int64_t>(along);
}

}  // namespace
}  // namespace autograd

UniqueResult unique(const Tensor& x, std::int64_t dim) {
  const std::int64_t along = autograd::checked_slices(x, dim, "unique");
  return autograd::distinct_slices(x, along, true, "unique_dim");
}

UniqueResult unique_consecutive(const Tensor& x,
                                std::optional<std::int64_t> dim) {
  constexpr autograd::OperationName kOperation = "unique_consecutive";
  const char* const name = kOperation.text();
  if (dim) {
    const std::int64_t along = autograd::checked_slices(x, *dim, name);
    return autograd::distinct_slices(x, along, false, kOperation);
  }
  autograd::check_defined(x, name);
  const Tensor flat = reshape(x.detach(), {x.num_elements()});
  autograd::report_reads(x);
  UniqueResult runs = autograd::distinct_slices(flat, 0, false, kOperation);
  runs.inverse = reshape(runs.inverse, x.shape());
  return runs;
}

// The first of the sorted elements that is not before x is x, if any is.
Tensor isin(const Tensor& x, const Tensor& elements) {
  autograd::check_defined(x, "isin");
  autograd::check_defined(elements, "isin");
  autograd::report_reads(x, elements);
  return autograd::result_of("isin", [&] {
    NoGrad no_grad;
    if (elements.num_elements() == 0) {
      return zeros(x.shape(), {.dtype = DType::kBool});
    }
    const DType dtype = promote_types(x.dtype(), elements.dtype());
    const Tensor wanted = autograd::in_dtype(x.detach(), dtype);
    const Tensor all = autograd::in_dtype(elements.detach(), dtype);
    const Tensor sorted = sort(reshape(all, {all.num_elements()})).values;
    const Tensor places =
        clamp(searchsorted(sorted, wanted), 0, sorted.num_elements() - 1);
    const Tensor flat = reshape(places, {places.num_elements()});
    const Tensor found = reshape(index_select(sorted, 0, flat), x.shape());
    return eq(found, wanted);
  });
}

}  // namespace hvd
