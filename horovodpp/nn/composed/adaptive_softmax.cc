// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/composed/adaptive_softmax.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/indices/scatter_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

constexpr const char* kModule = "AdaptiveLogSoftmaxWithLoss";

void check_cutoffs(const std::vector<std::int64_t>& cutoffs,
                   std::int64_t classes) {
  std::int64_t last = 0;
  bool ascend = !cutoffs.empty() && cutoffs.back() < classes;
  for (const std::int64_t cutoff : cutoffs) {
    ascend &= cutoff > last;
    last = cutoff;
  }
  if (ascend) return;
  throw InvalidArgument(absl::StrCat(
      kModule, ": cutoffs must ascend between 1 and ", classes - 1));
}

// The places where `chosen` is true: [m].
Tensor places_where(const Tensor& chosen) {
  const Tensor rows = nonzero(chosen);
  return reshape(rows, {rows.size(0)});
}

// Column columns[i] of row i: [n].
Tensor picked(const Tensor& rows, const Tensor& columns) {
  return squeeze(gather(rows, 1, unsqueeze(columns, 1)), 1);
}

}  // namespace

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(
    std::int64_t in_features, std::int64_t classes,
    std::vector<std::int64_t> cutoffs, const AdaptiveSoftmaxOptions& options)
    : width_(in_features), cutoffs_(std::move(cutoffs)) {
  check_cutoffs(cutoffs_, classes);
  cutoffs_.push_back(classes);
  const auto clusters = static_cast<std::int64_t>(cutoffs_.size()) - 1;
  head_ = register_module(
      "head", std::make_shared<Linear>(in_features, cutoffs_[0] + clusters,
                                       LinearOptions{.bias = options.head_bias,
                                                     .dtype = options.dtype}));
  tail_ = register_module("tail", std::make_shared<ModuleList<Sequential>>());
  const LinearOptions plain{.bias = false, .dtype = options.dtype};
  for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i) {
    const double share =
        std::pow(options.div_value, static_cast<double>(i + 1));
    const auto inner = static_cast<std::int64_t>(
        std::floor(static_cast<double>(in_features) / share));
    tail_->push_back(std::make_shared<Sequential>(
        std::make_shared<Linear>(in_features, inner, plain),
        std::make_shared<Linear>(inner, cutoffs_[i + 1] - cutoffs_[i], plain)));
  }
}

AdaptiveLogSoftmaxWithLoss::Result AdaptiveLogSoftmaxWithLoss::loss(
    const Tensor& input, const Tensor& target) {
  if (input.dim() == 1 && target.dim() == 0) {
    Result one = loss(unsqueeze(input, 0), unsqueeze(target, 0));
    one.output = squeeze(one.output, 0);
    return one;
  }
  const bool fits = input.dim() == 2 && input.size(1) == width_ &&
                    target.dim() == 1 && target.size(0) == input.size(0) &&
                    target.dtype() == DType::kI64;
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        kModule, ": ", input.describe(), " and ", target.describe(),
        " do not go together; wanted are [n, ", width_, "] and int64 [n]"));
  }
  // In the head, the class or the cluster of each row.
  Tensor columns = target;
  Tensor output = zeros({input.size(0)}, {.dtype = input.dtype()});
  for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i) {
    const auto low = static_cast<double>(cutoffs_[i]);
    const auto high = static_cast<double>(cutoffs_[i + 1]);
    const Tensor rows = places_where(mul(ge(target, low), lt(target, high)));
    if (rows.num_elements() == 0) continue;
    const Tensor within =
        log_softmax((*tail_)[i](index_select(input, 0, rows)), 1);
    const Tensor classes = sub(index_select(target, 0, rows), cutoffs_[i]);
    output = index_add(output, 0, rows, picked(within, classes));
    const auto cluster = static_cast<std::int64_t>(i) + cutoffs_[0];
    columns = index_fill(columns, 0, rows, static_cast<double>(cluster));
  }
  // A target that is no class is out of range here.
  const Tensor head = log_softmax((*head_)(input), 1);
  const Tensor valid =
      mul(ge(target, 0.0), lt(target, static_cast<double>(cutoffs_.back())));
  columns = where(valid, columns, -1);
  output = add(output, picked(head, columns));
  return {output, neg(mean(output))};
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& input) {
  const Tensor head = log_softmax((*head_)(input), 1);
  std::vector<Tensor> parts = {narrow(head, 1, 0, cutoffs_[0])};
  for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i) {
    const Tensor within = log_softmax((*tail_)[i](input), 1);
    const auto cluster = cutoffs_[0] + static_cast<std::int64_t>(i);
    parts.push_back(add(within, narrow(head, 1, cluster, 1)));
  }
  return cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& input) {
  return argmax(log_prob(input), 1);
}

}  // namespace hvd::nn
