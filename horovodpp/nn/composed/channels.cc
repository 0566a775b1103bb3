// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/composed/channels.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

void check_probability(double p, const char* module) {
  if (p >= 0 && p <= 1) return;
  throw InvalidArgument(
      absl::StrCat(module, ": the probability ", p, " is not in [0, 1]"));
}

// The least value of SELU is -kLeast.
constexpr double kLeast = 1.7580993408473766;

}  // namespace

ChannelDropout::ChannelDropout(double p, std::int64_t dims, bool unbatched)
    : p_(p), dims_(dims), unbatched_(unbatched) {
  check_probability(p, "ChannelDropout");
}

Tensor ChannelDropout::forward(const Tensor& input) {
  const bool batched = input.dim() == dims_ + 2 || !unbatched_;
  if (input.dim() != dims_ + 2 && input.dim() != dims_ + 1) {
    throw InvalidArgument(absl::StrCat("ChannelDropout: ", input.describe(),
                                       " has not ", dims_,
                                       " dimensions behind its channels"));
  }
  if (!is_training() || p_ == 0) return input;
  autograd::Dims kept = input.shape();
  for (std::size_t d = batched ? 2 : 1; d < kept.size(); ++d) kept[d] = 1;
  return mul(input, dropout(ones(kept, {.dtype = input.dtype()}), p_));
}

AlphaDropout::AlphaDropout(double p) : p_(p) {
  check_probability(p, "AlphaDropout");
}

Tensor AlphaDropout::forward(const Tensor& input) {
  return dropped(input, input.shape());
}

Tensor FeatureAlphaDropout::forward(const Tensor& input) {
  if (input.dim() < 2) {
    throw InvalidArgument(absl::StrCat(
        "FeatureAlphaDropout: ", input.describe(), " is not [n, c, ...]"));
  }
  autograd::Dims decisions = input.shape();
  for (std::size_t d = 2; d < decisions.size(); ++d) decisions[d] = 1;
  return dropped(input, decisions);
}

Tensor AlphaDropout::dropped(const Tensor& input,
                             const autograd::Dims& decisions) const {
  if (!is_training() || p_ == 0) return input;
  if (p_ == 1) return mul(input, 0.0);
  const double scale = 1 / std::sqrt((kLeast * kLeast * p_ + 1) * (1 - p_));
  const Tensor kept = bernoulli(decisions, 1 - p_, {.dtype = input.dtype()});
  // kept x scale - (1 - kept) least scale + p least scale
  const Tensor shift =
      add(mul(kept, kLeast * scale), kLeast * scale * (p_ - 1));
  return add(mul(input, mul(kept, scale)), shift);
}

LocalResponseNorm::LocalResponseNorm(std::int64_t size,
                                     const LocalResponseNormOptions& options)
    : size_(size), options_(options) {
  if (size > 0) return;
  throw InvalidArgument(
      absl::StrCat("LocalResponseNorm: ", size, " channels are too few"));
}

Tensor LocalResponseNorm::forward(const Tensor& input) {
  if (input.dim() < 3) {
    throw InvalidArgument(absl::StrCat("LocalResponseNorm: ", input.describe(),
                                       " is not [n, c, ...]"));
  }
  std::vector<std::int64_t> widths(
      static_cast<std::size_t>(2 * (input.dim() - 2)), 0);
  widths.push_back(size_ / 2);
  widths.push_back((size_ - 1) / 2);
  const Tensor windows = unfold(pad(mul(input, input), widths), 1, size_, 1);
  const Tensor base = add(mul(mean(windows, {-1}), options_.alpha), options_.k);
  return div(input, pow(base, options_.beta));
}

}  // namespace hvd::nn
