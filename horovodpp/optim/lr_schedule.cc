// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

void check(bool valid, const std::string& text) {
  if (!valid) throw InvalidArgument(text);
}

bool ascends(const std::vector<std::int64_t>& steps) {
  return std::is_sorted(steps.begin(), steps.end());
}

}  // namespace

Schedule step_lr(const StepOptions& options) {
  check(options.step_size > 0, "step_lr: step_size must be positive");
  return [options](double base, std::int64_t step) {
    return base * std::pow(options.gamma,
                           static_cast<double>(step / options.step_size));
  };
}

Schedule multi_step_lr(const MultiStepOptions& options) {
  check(ascends(options.milestones), "multi_step_lr: milestones must ascend");
  return [options](double base, std::int64_t step) {
    const auto& milestones = options.milestones;
    const auto passed =
        std::upper_bound(milestones.begin(), milestones.end(), step) -
        milestones.begin();
    return base * std::pow(options.gamma, static_cast<double>(passed));
  };
}

Schedule cosine_annealing_lr(const CosineAnnealingOptions& options) {
  check(options.max_steps > 0,
        "cosine_annealing_lr: max_steps must be positive");
  check(options.min_rate >= 0,
        "cosine_annealing_lr: min_rate must not be negative");
  return [options](double base, std::int64_t step) {
    const double part =
        static_cast<double>(step) / static_cast<double>(options.max_steps);
    return options.min_rate + (base - options.min_rate) *
                                  (1 + std::cos(std::numbers::pi * part)) / 2;
  };
}

Schedule linear_lr(const LinearOptions& options) {
  check(options.total_steps > 0, "linear_lr: total_steps must be positive");
  check(options.start_factor >= 0 && options.end_factor >= 0,
        "linear_lr: factors must not be negative");
  return [options](double base, std::int64_t step) {
    const double part =
        static_cast<double>(std::min(step, options.total_steps)) /
        static_cast<double>(options.total_steps);
    return base * (options.start_factor +
                   (options.end_factor - options.start_factor) * part);
  };
}

Schedule lambda_lr(std::function<double(std::int64_t step)> factor) {
  check(factor != nullptr, "lambda_lr: there is no function");
  return [factor = std::move(factor)](double base, std::int64_t step) {
    return base * factor(step);
  };
}

Schedule sequential_lr(std::vector<Schedule> schedules,
                       std::vector<std::int64_t> milestones) {
  check(schedules.size() == milestones.size() + 1,
        absl::StrCat("sequential_lr: ", schedules.size(), " schedules want ",
                     "one milestone less, not ", milestones.size()));
  check(ascends(milestones), "sequential_lr: milestones must ascend");
  for (const Schedule& schedule : schedules) {
    check(schedule != nullptr, "sequential_lr: a schedule is empty");
  }
  return [schedules = std::move(schedules), milestones = std::move(milestones)](
             double base, std::int64_t step) {
    const auto passed =
        std::upper_bound(milestones.begin(), milestones.end(), step);
    const auto now = static_cast<std::size_t>(passed - milestones.begin());
    return schedules[now](base, now == 0 ? step : step - milestones[now - 1]);
  };
}

LRScheduler::LRScheduler(Optimizer& optimizer, Schedule schedule)
    : optimizer_(optimizer),
      schedule_(std::move(schedule)),
      bases_(optimizer.learning_rates()) {
  check(schedule_ != nullptr, "LRScheduler: the schedule is empty");
  set_rates();
}

void LRScheduler::step() {
  ++steps_;
  set_rates();
}

void LRScheduler::set_rates() {
  std::vector<double> rates;
  for (const double base : bases_) rates.push_back(schedule_(base, steps_));
  optimizer_.set_learning_rates(rates);
}

nn::StateDict LRScheduler::state_dict() const {
  const auto count = static_cast<std::int64_t>(bases_.size());
  return {{"step", nn::count_tensor(steps_)},
          {"base_rates", from_vector(bases_, {count})}};
}

void LRScheduler::load_state_dict(const nn::StateDict& state,
                                  const nn::LoadOptions& options) {
  const nn::StateDict own = state_dict();
  nn::LoadResult keys;
  std::vector<Tensor> found(own.size());
  for (const auto& [name, tensor] : state) {
    const auto place = std::find_if(
        own.begin(), own.end(),
        [&, &n = name](const auto& entry) { return entry.name == n; });
    if (place == own.end()) {
      keys.unknown.push_back(name);
      continue;
    }
    nn::check_assignment({name, place->tensor, tensor}, options);
    found[static_cast<std::size_t>(place - own.begin())] = tensor;
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!found[i].defined()) keys.missing.push_back(own[i].name);
  }
  nn::LoadOptions strict = options;
  strict.strict = true;
  nn::check_keys(keys, strict);
  const auto steps = found[0].to(DType::kI64).item<std::int64_t>();
  check(steps >= 0,
        absl::StrCat(options.source, ": the step of a schedule is ", steps));
  steps_ = steps;
  bases_ = found[1].to(DType::kF64).to_vector<double>();
  set_rates();
}

}  // namespace hvd::optim
