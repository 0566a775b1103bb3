// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::optim {
namespace {

void check_schedule(bool valid, const std::string& text) {
  if (!valid) throw InvalidArgument(text);
}

double by_cosine(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

// A part of a cycle, up to and including the step `end`, which may be no whole
// number.
struct Phase {
  double end;
  double from;
  double to;
};

std::vector<Phase> phases_of(const OneCycleOptions& o) {
  const double first = o.max_rate / o.div_factor;
  const double last = first / o.final_div_factor;
  const auto total = static_cast<double>(o.total_steps);
  const double peak = o.increasing_part * total - 1;
  if (!o.three_phase) {
    return {{peak, first, o.max_rate}, {total - 1, o.max_rate, last}};
  }
  return {{peak, first, o.max_rate},
          {2 * o.increasing_part * total - 2, o.max_rate, first},
          {total - 1, first, last}};
}

}  // namespace

Schedule exponential_lr(double gamma) {
  check_schedule(gamma >= 0, "exponential_lr: gamma must not be negative");
  return [gamma](double base, std::int64_t step) {
    return base * std::pow(gamma, static_cast<double>(step));
  };
}

Schedule constant_lr(const ConstantOptions& options) {
  check_schedule(options.factor >= 0 && options.total_steps >= 0,
                 "constant_lr: factor and total_steps must not be negative");
  return [options](double base, std::int64_t step) {
    return step < options.total_steps ? base * options.factor : base;
  };
}

Schedule polynomial_lr(const PolynomialOptions& options) {
  check_schedule(options.total_steps > 0,
                 "polynomial_lr: total_steps must be positive");
  check_schedule(options.power >= 0,
                 "polynomial_lr: power must not be negative");
  return [options](double base, std::int64_t step) {
    const auto total = static_cast<double>(options.total_steps);
    const double now = std::min(static_cast<double>(step), total);
    return base * std::pow(1 - now / total, options.power);
  };
}

Schedule cosine_annealing_warm_restarts(const WarmRestartsOptions& options) {
  check_schedule(options.first_period > 0 && options.period_factor > 0,
                 "cosine_annealing_warm_restarts: first_period and "
                 "period_factor must be positive");
  check_schedule(options.min_rate >= 0,
                 "cosine_annealing_warm_restarts: min_rate must not be "
                 "negative");
  return [options](double base, std::int64_t step) {
    std::int64_t period = options.first_period;
    if (options.period_factor == 1) {
      step %= period;
    } else {
      for (; step >= period; period *= options.period_factor) step -= period;
    }
    const double part = static_cast<double>(step) / static_cast<double>(period);
    return by_cosine(base, options.min_rate, part);
  };
}

Schedule one_cycle_lr(const OneCycleOptions& options) {
  check_schedule(options.max_rate >= 0 && options.total_steps > 0,
                 "one_cycle_lr: max_rate must not be negative, and "
                 "total_steps must be positive");
  check_schedule(options.increasing_part >= 0 && options.increasing_part <= 1,
                 "one_cycle_lr: increasing_part must be in [0, 1]");
  check_schedule(options.div_factor > 0 && options.final_div_factor > 0,
                 "one_cycle_lr: the factors must be positive");
  return [options, phases = phases_of(options)](double, std::int64_t step) {
    check_schedule(
        step <= options.total_steps,
        absl::StrCat("one_cycle_lr: step ", step, " of ", options.total_steps));
    const auto now = static_cast<double>(step);
    double start = 0;
    for (const Phase& phase : phases) {
      if (now > phase.end && &phase != &phases.back()) {
        start = phase.end;
        continue;
      }
      // The step total_steps, after the last one, keeps the last rate.
      const double part = std::min((now - start) / (phase.end - start), 1.0);
      return options.linear ? (phase.to - phase.from) * part + phase.from
                            : by_cosine(phase.from, phase.to, part);
    }
    return phases.back().to;
  };
}

Schedule chained_lr(std::vector<Schedule> schedules) {
  check_schedule(!schedules.empty(), "chained_lr: there is no schedule");
  for (const Schedule& schedule : schedules) {
    check_schedule(schedule != nullptr, "chained_lr: a schedule is empty");
  }
  return [schedules = std::move(schedules)](double base, std::int64_t step) {
    if (base == 0.0) return 0.0;
    double rate = base;
    for (const Schedule& schedule : schedules) {
      rate *= schedule(base, step) / base;
    }
    return rate;
  };
}

}  // namespace hvd::optim
