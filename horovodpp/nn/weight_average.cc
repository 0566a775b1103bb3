// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/weight_average.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::nn {

WeightAverage::WeightAverage(const Module& model, double decay)
    : decay_(decay), weights_(model.state_dict()) {
  if (!(decay >= 0 && decay <= 1)) {
    throw InvalidArgument(
        absl::StrCat("WeightAverage: the decay ", decay, " is not in [0, 1]"));
  }
  const NoGrad no_grad;
  for (const auto& [name, tensor] : weights_) {
    averages_.push_back({name, tensor.detach().clone()});
  }
  const std::vector<NamedTensor> parameters = model.named_parameters();
  for (const NamedTensor& entry : weights_) {
    learnt_.push_back(std::any_of(
        parameters.begin(), parameters.end(),
        [&](const NamedTensor& p) { return p.name == entry.name; }));
  }
}

void WeightAverage::update() {
  if (swapped_) {
    throw InvalidArgument(
        "WeightAverage: the model has the average; swap() before update()");
  }
  const NoGrad no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Tensor& average = averages_[i].tensor;
    const Tensor weight = weights_[i].tensor.detach();
    if (learnt_[i]) {
      average.mul_(decay_).add_(weight, 1 - decay_);
    } else {
      average.copy_(weight);
    }
  }
}

void WeightAverage::swap() {
  const NoGrad no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Tensor kept = averages_[i].tensor.clone();
    averages_[i].tensor.copy_(weights_[i].tensor.detach());
    weights_[i].tensor.copy_(kept);
  }
  swapped_ = !swapped_;
}

void WeightAverage::load_state_dict(const StateDict& state,
                                    const LoadOptions& options) {
  LoadResult keys;
  std::vector<Tensor> found(averages_.size());
  for (const auto& [name, tensor] : state) {
    std::size_t i = 0;
    while (i < averages_.size() && averages_[i].name != name) ++i;
    if (i == averages_.size()) {
      keys.unknown.push_back(name);
      continue;
    }
    check_assignment({name, averages_[i].tensor, tensor}, options);
    found[i] = tensor;
  }
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    if (!found[i].defined()) keys.missing.push_back(averages_[i].name);
  }
  LoadOptions strict = options;
  strict.strict = true;
  check_keys(keys, strict);
  const NoGrad no_grad;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    averages_[i].tensor.copy_(
        found[i].detach().to(averages_[i].tensor.dtype()));
  }
}

}  // namespace hvd::nn
