// SPDX-License-Identifier: Apache-2.0
// More schedules of learning rates, computed like PyTorch's of the same names:
// see lr_schedule.h. The functions throw InvalidArgument if an option makes no
// sense.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/lr_schedule.h"

namespace HVD_EXPORT hvd {
namespace optim {

// base gamma^step
Schedule exponential_lr(double gamma);

struct ConstantOptions {
  double factor = 1.0 / 3;
  std::int64_t total_steps = 5;
};
// base factor before total_steps, then base.
Schedule constant_lr(const ConstantOptions& options);

struct PolynomialOptions {
  std::int64_t total_steps = 5;
  double power = 1.0;
};
// base (1 - step / total_steps)^power, and 0 from there on.
Schedule polynomial_lr(const PolynomialOptions& options);

struct WarmRestartsOptions {
  std::int64_t first_period = 1;   // PyTorch's T_0, in steps.
  std::int64_t period_factor = 1;  // T_mult: of each period to the one before.
  double min_rate = 0.0;           // eta_min
};
// Cosine annealing from base to min_rate that begins anew after each period
// (Loshchilov and Hutter 2017).
Schedule cosine_annealing_warm_restarts(const WarmRestartsOptions& options);

struct OneCycleOptions {
  double max_rate = 0.1;
  std::int64_t total_steps = 100;
  double increasing_part = 0.3;  // Of the steps: PyTorch's pct_start.
  bool linear = false;           // Whether to anneal linearly, not by a cosine.
  double div_factor = 25.0;      // Of max_rate to the first rate,
  double final_div_factor = 1e4;  // and of that to the last.
  bool three_phase = false;  // Falls to the first rate before the last one.
};
// Up to max_rate and down again (Smith and Topin 2018); the base rate plays no
// part. It does not change the momentum: PyTorch's does, unless
// cycle_momentum=False. A step beyond total_steps throws InvalidArgument.
Schedule one_cycle_lr(const OneCycleOptions& options);

// All schedules at once: the base times each schedule's rate over the base.
// PyTorch's chained cosines depend on the rates before and so differ.
Schedule chained_lr(std::vector<Schedule> schedules);

}  // namespace optim
}  // namespace hvd
