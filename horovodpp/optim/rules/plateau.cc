// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/plateau.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::optim {

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer,
                                     const PlateauOptions& options)
    : optimizer_(optimizer),
      options_(options),
      best_(options.maximize ? -std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::infinity()) {
  const bool valid = options.factor >= 0 && options.factor < 1 &&
                     options.patience >= 0 && options.threshold >= 0 &&
                     options.cooldown >= 0 && options.min_rate >= 0 &&
                     options.eps >= 0;
  if (valid) return;
  throw InvalidArgument(
      "ReduceLROnPlateau: factor must be in [0, 1), and no other option "
      "negative");
}

bool ReduceLROnPlateau::improves(double metric) const {
  const double sign = options_.maximize ? 1.0 : -1.0;
  const double wanted = options_.relative
                            ? best_ * (1 + sign * options_.threshold)
                            : best_ + sign * options_.threshold;
  return options_.maximize ? metric > wanted : metric < wanted;
}

void ReduceLROnPlateau::step(double metric) {
  if (improves(metric)) {
    best_ = metric;
    bad_steps_ = 0;
  } else {
    ++bad_steps_;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    bad_steps_ = 0;
  }
  if (bad_steps_ <= options_.patience) return;
  reduce();
  cooldown_ = options_.cooldown;
  bad_steps_ = 0;
}

void ReduceLROnPlateau::reduce() {
  std::vector<double> rates = optimizer_.learning_rates();
  for (double& rate : rates) {
    const double lower = std::max(rate * options_.factor, options_.min_rate);
    if (rate - lower > options_.eps) rate = lower;
  }
  optimizer_.set_learning_rates(rates);
}

nn::StateDict ReduceLROnPlateau::state_dict() const {
  return {{"best", nn::scalar_tensor(best_)},
          {"bad_steps", nn::count_tensor(bad_steps_)},
          {"cooldown", nn::count_tensor(cooldown_)}};
}

void ReduceLROnPlateau::load_state_dict(const nn::StateDict& state,
                                        const nn::LoadOptions& options) {
  const nn::StateDict own = state_dict();
  nn::LoadResult keys;
  std::vector<Tensor> found(own.size());
  for (const auto& [name, tensor] : state) {
    std::size_t i = 0;
    while (i < own.size() && own[i].name != name) ++i;
    if (i == own.size()) {
      keys.unknown.push_back(name);
      continue;
    }
    nn::check_assignment({name, own[i].tensor, tensor}, options);
    found[i] = tensor;
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!found[i].defined()) keys.missing.push_back(own[i].name);
  }
  nn::LoadOptions strict = options;
  strict.strict = true;
  nn::check_keys(keys, strict);
  const auto bad_steps = found[1].to(DType::kI64).item<std::int64_t>();
  const auto cooldown = found[2].to(DType::kI64).item<std::int64_t>();
  if (bad_steps < 0 || cooldown < 0) {
    throw InvalidArgument(absl::StrCat(
        options.source, ": a count of ReduceLROnPlateau is negative"));
  }
  best_ = found[0].to(DType::kF64).item<double>();
  bad_steps_ = bad_steps;
  cooldown_ = cooldown;
}

}  // namespace hvd::optim
