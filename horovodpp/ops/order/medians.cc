// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/medians.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/order/along.h"
#include "horovodpp/ops/order/sorted_rows.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"

namespace hvd {
namespace autograd {
namespace {

// The index of the median of a row whose items are in the row's order.
template <typename T>
std::int64_t median_of(std::vector<Item<KeyOf<T>>>& items, bool ignores_nan) {
  using Key = KeyOf<T>;
  std::size_t numbers = items.size();
  if constexpr (std::is_floating_point_v<Loaded<T>>) {
    constexpr Key kNan = std::numeric_limits<Key>::max();
    const auto is_nan = [](const Item<Key>& item) { return item.key == kNan; };
    numbers -= static_cast<std::size_t>(
        std::count_if(items.begin(), items.end(), is_nan));
    if (numbers == 0 || (numbers < items.size() && !ignores_nan)) {
      return std::find_if(items.begin(), items.end(), is_nan)->index;
    }
  }
  const auto middle =
      items.begin() + static_cast<std::ptrdiff_t>((numbers - 1) / 2);
  std::nth_element(items.begin(), middle, items.end());
  return middle->index;
}

// The index of the last of the most frequent elements of a row; `items` are
// sorted.
template <typename T>
std::int64_t mode_of(const T* row, const std::vector<Item<KeyOf<T>>>& items) {
  std::size_t longest = 0, last = 0, start = 0;
  const auto at = [&](std::size_t i) { return loaded(row[items[i].index]); };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && at(i) != at(i - 1)) start = i;
    if (i + 1 - start > longest) {
      longest = i + 1 - start;
      last = i;
    }
  }
  return items[last].index;
}

enum class Middle { kMedian, kNanMedian, kMode };

// The indices [..., 1] of the chosen elements in rows of `in` [..., n].
Tensor chosen_of_rows(const Tensor& in, Middle middle) {
  const std::int64_t n = in.size(-1);
  Dims shape = in.shape();
  shape[shape.size() - 1] = 1;
  const Tensor out = empty(shape, {.dtype = DType::kI64});
  auto* chosen = out.data<std::int64_t>();
  visit(in.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* rows = in.data<T>();
    parallel_for({.count = out.num_elements(), .cost = 8 * n},
                 [&](std::int64_t begin, std::int64_t end) {
                   std::vector<Item<KeyOf<T>>> items, spare;
                   for (std::int64_t r = begin; r < end; ++r) {
                     items.resize(static_cast<std::size_t>(n));
                     load_row(rows + r * n, false, items);
                     if (middle == Middle::kMode) {
                       sort_items(items, spare);
                       chosen[r] = mode_of(rows + r * n, items);
                     } else {
                       chosen[r] =
                           median_of<T>(items, middle == Middle::kNanMedian);
                     }
                   }
                 });
  });
  return out;
}

SortResult chosen_along(const Tensor& x, std::int64_t d, bool keepdim,
                        Middle middle, OperationName operation) {
  const Along along(x, d, operation.text());
  if (along.size() == 0) {
    throw InvalidArgument(absl::StrCat(operation.text(), ": dimension ",
                                       along.dim, " of ", x.describe(),
                                       " has no elements"));
  }
  const auto dim = static_cast<std::int64_t>(along.dim);
  const Tensor indices = result_of(operation, [&] {
    NoGrad no_grad;
    const Tensor in = transpose(along.x.detach(), dim, -1).contiguous();
    return transpose(chosen_of_rows(in, middle), dim, -1).contiguous();
  });
  const SortResult found = {gather(along.x, dim, indices), indices};
  return along.finish_reduced(found, keepdim);
}

void check_numbers(const Tensor& x, const char* operation) {
  check_defined(x, operation);
  if (x.dtype() == DType::kBool) {
    throw_bad_dtype(x.dtype(), operation, "integers and floating point");
  }
}

// The weight of each element in the gradient of the median: equal elements
// share it.
Tensor shares_of(const Tensor& x, const Tensor& value) {
  const bool is_nan = ne(value, value).item<bool>();
  const Tensor equal = is_nan ? ne(x, x) : eq(x, value);
  return div(to(equal, x.dtype()), to(sum(equal), x.dtype()));
}

Tensor median_of_all(const Tensor& x, Middle middle) {
  const char* const operation =
      middle == Middle::kMedian ? "median" : "nanmedian";
  check_numbers(x, operation);
  Tensor value;
  {
    NoGrad no_grad;
    if (x.num_elements() > 0) {
      const Tensor flat = reshape(x.detach(), {x.num_elements()});
      value = chosen_along(flat, 0, false, middle, "median").values;
    } else if (is_floating_point(x.dtype())) {
      value = full({}, std::numeric_limits<double>::quiet_NaN(),
                   {.dtype = x.dtype()});
    } else {
      throw InvalidArgument(absl::StrCat(operation, ": ", x.describe(),
                                         " has no elements, and no NaN"));
    }
  }
  if (needs_grad(x)) {
    Tensor shares;
    {
      NoGrad no_grad;
      shares = shares_of(x.detach(), value);
    }
    record_saving(value, "MedianBackward", x, shares,
                  [](Tensor& dy, const Tensor& part) { return mul(dy, part); });
  }
  return value;
}

}  // namespace
}  // namespace autograd

using autograd::Middle;

Tensor median(const Tensor& x) {
  return autograd::median_of_all(x, Middle::kMedian);
}
Tensor nanmedian(const Tensor& x) {
  return autograd::median_of_all(x, Middle::kNanMedian);
}

SortResult median(const Tensor& x, std::int64_t dim, bool keepdim) {
  autograd::check_numbers(x, "median");
  return autograd::chosen_along(x, dim, keepdim, Middle::kMedian, "median");
}
SortResult nanmedian(const Tensor& x, std::int64_t dim, bool keepdim) {
  autograd::check_numbers(x, "nanmedian");
  return autograd::chosen_along(x, dim, keepdim, Middle::kNanMedian, "median");
}

SortResult mode(const Tensor& x, std::int64_t dim, bool keepdim) {
  return autograd::chosen_along(x, dim, keepdim, Middle::kMode, "mode");
}

Tensor msort(const Tensor& x) { return sort(x, {.dim = 0}).values; }

}  // namespace hvd
