// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

using Weights = std::span<const double>;

// InvalidArgument unless at least `needed` weights are positive, none is
// negative, and all are finite.
void check_weights(Weights weights, std::int64_t needed) {
  std::int64_t positive = 0;
  for (const double weight : weights) {
    if (!(weight >= 0.0) || std::isinf(weight)) {
      throw InvalidArgument(absl::StrCat("multinomial: weight ", weight,
                                         " is negative or not finite"));
    }
    if (weight > 0.0) ++positive;
  }
  if (positive < needed) {
    throw InvalidArgument(absl::StrCat("multinomial: ", positive,
                                       " weights of a row are positive; ",
                                       needed, " are needed"));
  }
}

// Each number picks the category at its share of the weights' sum.
void draw_repeatedly(Weights weights, std::span<std::int64_t> out) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  std::vector<double> at(out.size());
  default_generator().uniform(std::span(at));
  for (std::size_t i = 0; i < out.size(); ++i) {
    // Below the sum even where the product rounds up.
    const double place =
        std::min(at[i] * sums.back(), std::nextafter(sums.back(), 0.0));
    out[i] = std::upper_bound(sums.begin(), sums.end(), place) - sums.begin();
  }
}

// The categories whose exponential variables of rate `weight` come first
// (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
void draw_once(Weights weights, std::span<std::int64_t> out) {
  std::vector<double> at(weights.size());
  default_generator().uniform(std::span(at));
  std::vector<std::pair<double, std::int64_t>> arrivals(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double arrival = weights[i] > 0.0
                               ? -std::log1p(-at[i]) / weights[i]
                               : std::numeric_limits<double>::infinity();
    arrivals[i] = {arrival, static_cast<std::int64_t>(i)};
  }
  const auto end = arrivals.begin() + static_cast<std::ptrdiff_t>(out.size());
  std::partial_sort(arrivals.begin(), end, arrivals.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = arrivals[i].second;
}

Tensor drawn(const Tensor& weights, std::int64_t samples, bool replacement) {
  const Tensor all = to(weights.detach(), DType::kF64).contiguous();
  const auto n = static_cast<std::size_t>(weights.size(-1));
  const auto rows = static_cast<std::size_t>(all.num_elements()) / n;
  const auto count = static_cast<std::size_t>(samples);
  for (std::size_t r = 0; r < rows; ++r) {
    check_weights({all.data<double>() + r * n, n}, replacement ? 1 : samples);
  }
  Dims shape = weights.shape();
  shape[shape.size() - 1] = samples;
  const Tensor out = empty(shape, {.dtype = DType::kI64});
  for (std::size_t r = 0; r < rows; ++r) {
    const Weights row(all.data<double>() + r * n, n);
    const std::span to(out.data<std::int64_t>() + r * count, count);
    replacement ? draw_repeatedly(row, to) : draw_once(row, to);
  }
  return out;
}

// InvalidArgument unless all are in [0, 1].
void check_probabilities(const Tensor& p) {
  const Tensor all = to(p.detach(), DType::kF64).contiguous();
  const std::span values(all.data<double>(),
                         static_cast<std::size_t>(all.num_elements()));
  for (const double value : values) {
    if (!(value >= 0.0 && value <= 1.0)) {
      throw InvalidArgument(
          absl::StrCat("bernoulli: ", value, " is no probability"));
    }
  }
}

}  // namespace
}  // namespace autograd

Tensor multinomial(const Tensor& weights, std::int64_t samples,
                   bool replacement) {
  autograd::check_defined(weights, "multinomial");
  if (weights.dim() < 1 || weights.dim() > 2 || weights.size(-1) == 0 ||
      !is_floating_point(weights.dtype())) {
    throw InvalidArgument(absl::StrCat(
        "multinomial: weights ", weights.describe(),
        " are not one or two dimensions of floating-point categories"));
  }
  if (samples < 1 || (!replacement && samples > weights.size(-1))) {
    throw InvalidArgument(absl::StrCat(
        "multinomial: cannot draw ", samples, " samples of ", weights.size(-1),
        " categories; draw from 1 on, and more only with replacement"));
  }
  autograd::report_reads(weights);
  return autograd::result_of("multinomial", [&] {
    return autograd::drawn(weights, samples, replacement);
  });
}

Tensor bernoulli(const Tensor& probabilities) {
  autograd::check_defined(probabilities, "bernoulli");
  Tensor out = autograd::result_of("bernoulli", [&] {
    const Tensor p = probabilities.detach();
    const Tensor ones = empty(p.shape(), {.dtype = p.dtype()});
    autograd::visit_any_floating(
        p.dtype(), "bernoulli", [&]<typename T>(TypeTag<T>) {
          autograd::check_probabilities(p);
          const Tensor at = rand(p.shape(), {.dtype = DType::kF64});
          const Tensor limit = to(p, DType::kF64);
          NoGrad no_grad;
          const Tensor below = empty(p.shape(), {.dtype = DType::kF64});
          autograd::map2<double>(below, at, limit, [](double u, double q) {
            return u < q ? 1.0 : 0.0;
          });
          autograd::map<T, double>(ones, below, [](double one) {
            return static_cast<autograd::Loaded<T>>(one);
          });
        });
    return ones;
  });
  if (autograd::needs_grad(probabilities)) {
    autograd::record(out, "BernoulliBackward", probabilities,
                     [](Tensor& dy) { return zeros_like(dy); });
  }
  return out;
}

}  // namespace hvd
