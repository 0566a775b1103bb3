// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/order/order_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// Whether each row of `values` has a row of `sorted`.
bool rows_match(const Tensor& sorted, const Tensor& values) {
  if (sorted.dim() == 1) return true;
  bool fits = sorted.dim() > 1 && values.dim() == sorted.dim();
  for (std::int64_t d = 0; fits && d + 1 < sorted.dim(); ++d) {
    fits = sorted.size(d) == values.size(d);
  }
  return fits;
}

// The first of n ascending elements that is not before x. NaN as in PyTorch: it
// comes after every number.
template <typename T>
std::int64_t place_in(const T* row, std::int64_t n, T x, bool right) {
  const auto value = loaded(x);
  const T* end = std::partition_point(row, row + n, [&](T element) {
    const auto e = loaded(element);
    return right ? !(e > value) : !(e >= value);
  });
  return end - row;
}

Tensor placed(const Tensor& sorted, const Tensor& values, bool right) {
  const Tensor rows = sorted.detach().contiguous();
  const Tensor in = values.detach().contiguous();
  const Tensor out = empty(in.shape(), {.dtype = DType::kI64});
  const std::int64_t n = rows.size(-1);
  const bool shared = rows.dim() == 1;
  const std::int64_t width =
      shared ? 1 : std::max<std::int64_t>(in.size(-1), 1);
  auto* places = out.data<std::int64_t>();
  visit(in.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* from = rows.data<T>();
    const T* wanted = in.data<T>();
    parallel_for({.count = in.num_elements(), .cost = 16},
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const T* row = shared ? from : from + i / width * n;
                     places[i] = place_in(row, n, wanted[i], right);
                   }
                 });
  });
  return out;
}

// Elements in order, and the places that they had.
struct Distinct {
  Tensor sorted;
  Tensor places;
  std::vector<std::int64_t> starts;  // Of each run of equal elements.
};

Distinct distinct(const Tensor& x) {
  const SortResult all = sort(x.detach().contiguous().view({-1}));
  Distinct found{all.values, all.indices, {}};
  visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* row = found.sorted.data<T>();
    for (std::int64_t i = 0; i < found.sorted.num_elements(); ++i) {
      if (i == 0 || loaded(row[i]) != loaded(row[i - 1])) {
        found.starts.push_back(i);
      }
    }
  });
  return found;
}

std::array<Tensor, 3> unique_of(const Tensor& x) {
  const Distinct found = distinct(x);
  const auto m = static_cast<std::int64_t>(found.starts.size());
  const std::int64_t n = found.sorted.num_elements();
  const Tensor values = empty({m}, {.dtype = x.dtype()});
  const Tensor inverse = empty(x.shape(), {.dtype = DType::kI64});
  const Tensor counts = empty({m}, {.dtype = DType::kI64});
  auto* rank = inverse.data<std::int64_t>();
  const auto* place = found.places.data<std::int64_t>();
  for (std::int64_t k = 0; k < m; ++k) {
    const std::int64_t begin = found.starts[static_cast<std::size_t>(k)];
    const std::int64_t end =
        k + 1 < m ? found.starts[static_cast<std::size_t>(k + 1)] : n;
    counts.data<std::int64_t>()[k] = end - begin;
    for (std::int64_t i = begin; i < end; ++i) rank[place[i]] = k;
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      values.data<T>()[k] = found.sorted.data<T>()[begin];
    });
  }
  return {values, inverse, counts};
}

// x as int64 [n], none negative, and the number of counts.
Tensor checked_categories(const Tensor& x, std::int64_t& count) {
  check_defined(x, "bincount");
  if (x.dim() != 1 || is_floating_point(x.dtype()) ||
      x.dtype() == DType::kBool) {
    throw InvalidArgument(absl::StrCat("bincount: ", x.describe(),
                                       " is not one dimension of integers"));
  }
  if (count < 0) {
    throw InvalidArgument(
        absl::StrCat("bincount: minlength ", count, " is negative"));
  }
  const Tensor categories = to(x.detach(), DType::kI64).contiguous();
  const auto* category = categories.data<std::int64_t>();
  for (std::int64_t i = 0; i < categories.num_elements(); ++i) {
    if (category[i] < 0) {
      throw InvalidArgument(absl::StrCat("bincount: element ", category[i],
                                         " is negative; only numbers from 0 "
                                         "on are counted"));
    }
    count = std::max(count, category[i] + 1);
  }
  return categories;
}

template <typename T, typename Weight>
Tensor counted(const Tensor& categories, std::int64_t count, DType dtype,
               Weight weight) {
  const Tensor out = zeros({count}, {.dtype = dtype});
  const auto* category = categories.data<std::int64_t>();
  for (std::int64_t i = 0; i < categories.num_elements(); ++i) {
    out.data<T>()[category[i]] += weight(i);
  }
  return out;
}

// The sums are float32 for float32 weights, else float64.
Tensor weighted_counts(const Tensor& categories, std::int64_t count,
                       const Tensor& weights) {
  if (weights.shape() != categories.shape()) {
    throw InvalidArgument(absl::StrCat("bincount: weights ", weights.describe(),
                                       " have not the shape of ",
                                       categories.describe()));
  }
  const bool narrow = weights.dtype() == DType::kF32;
  const DType dtype = narrow ? DType::kF32 : DType::kF64;
  const Tensor added = to(weights.detach(), dtype).contiguous();
  Tensor out;
  visit_floating(dtype, "bincount", [&]<typename T>(TypeTag<T>) {
    out = counted<T>(categories, count, dtype,
                     [&](std::int64_t i) { return added.data<T>()[i]; });
  });
  return out;
}

// The bounds of a histogram.
template <typename T>
std::pair<double, double> bounds_of(const Tensor& x,
                                    const HistogramOptions& options) {
  double low = options.min, high = options.max;
  if (low == high && x.num_elements() > 0) {
    const T* row = x.data<T>();
    T least = row[0], most = row[0];
    for (std::int64_t i = 0; i < x.num_elements(); ++i) {
      // NaN stays, and is refused below.
      if (row[i] < least || std::isnan(row[i])) least = row[i];
      if (row[i] > most) most = row[i];
    }
    low = static_cast<double>(least);
    high = static_cast<double>(most);
  }
  if (low == high) {
    low -= 1.0;
    high += 1.0;
  }
  if (!std::isfinite(low) || !std::isfinite(high) || !(low <= high)) {
    throw InvalidArgument(absl::StrCat("histc: the range from ", low, " to ",
                                       high, " is not finite and ascending"));
  }
  return {low, high};
}

}  // namespace
}  // namespace autograd

using autograd::result_of;

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
  autograd::check_same_dtype(sorted, values, "searchsorted");
  if (!autograd::rows_match(sorted, values)) {
    throw InvalidArgument(absl::StrCat(
        "searchsorted: ", values.describe(), " does not go with ",
        sorted.describe(),
        "; wanted is one dimension, or equal dimensions but the last"));
  }
  autograd::report_reads(sorted, values);
  return result_of("searchsorted",
                   [&] { return autograd::placed(sorted, values, right); });
}

Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool right) {
  autograd::check_defined(boundaries, "bucketize");
  if (boundaries.dim() != 1) {
    throw InvalidArgument(absl::StrCat("bucketize: boundaries ",
                                       boundaries.describe(),
                                       " have not one dimension"));
  }
  return searchsorted(boundaries, values, right);
}

UniqueResult unique(const Tensor& x) {
  autograd::check_defined(x, "unique");
  autograd::report_reads(x);
  auto [values, inverse, counts] =
      result_of("unique", [&] { return autograd::unique_of(x); });
  return {values, inverse, counts};
}

Tensor bincount(const Tensor& x, const Tensor& weights,
                std::int64_t minlength) {
  autograd::report_reads(x);
  if (weights.defined()) autograd::report_reads(weights);
  return result_of("bincount", [&] {
    std::int64_t count = minlength;
    const Tensor categories = autograd::checked_categories(x, count);
    if (weights.defined()) {
      return autograd::weighted_counts(categories, count, weights);
    }
    return autograd::counted<std::int64_t>(categories, count, DType::kI64,
                                           [](std::int64_t) { return 1; });
  });
}

Tensor histc(const Tensor& x, const HistogramOptions& options) {
  autograd::check_defined(x, "histc");
  if (options.bins < 1) {
    throw InvalidArgument(
        absl::StrCat("histc: ", options.bins, " bins are too few"));
  }
  autograd::report_reads(x);
  return result_of("histc", [&] {
    const Tensor in = x.detach().contiguous();
    const Tensor out = zeros({options.bins}, {.dtype = x.dtype()});
    autograd::visit_floating(x.dtype(), "histc", [&]<typename T>(TypeTag<T>) {
      const auto [low, high] = autograd::bounds_of<T>(in, options);
      const T least = static_cast<T>(low), most = static_cast<T>(high);
      const T* row = in.data<T>();
      for (std::int64_t i = 0; i < in.num_elements(); ++i) {
        if (!(row[i] >= least && row[i] <= most)) continue;
        const auto bin = static_cast<std::int64_t>(
            (row[i] - least) / (most - least) * static_cast<T>(options.bins));
        out.data<T>()[std::min(bin, options.bins - 1)] += T(1);
      }
    });
    return out;
  });
}

}  // namespace hvd
