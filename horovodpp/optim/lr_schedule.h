// SPDX-License-Identifier: Apache-2.0
// Learning rates that change with the steps, computed like PyTorch's schedulers
// of the same names. A Schedule is a formula: the rate at a step, given the
// initial rate. An LRScheduler applies a schedule to an optimizer:
//
//   LRScheduler scheduler(
//       optimizer, sequential_lr({linear_lr({.start_factor = 0.01,
//                                            .total_steps = 500}),
//                                 cosine_annealing_lr({.max_steps = 9500})},
//                                {500}));
//   for (...) { …; optimizer.step(); scheduler.step(); }
//
// Rates depend only on the number of the step, so a resumed schedule continues
// exactly. The program chooses the unit of a step: a batch or an epoch.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <functional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

// The rate at `step`, from 0, of a group whose initial rate was `base`.
using Schedule = std::function<double(double base, std::int64_t step)>;

// The functions below throw InvalidArgument if an option makes no sense.

struct StepOptions {
  std::int64_t step_size = 1;
  double gamma = 0.1;
};
// base gamma^(step / step_size), the quotient rounded down.
Schedule step_lr(const StepOptions& options);

struct MultiStepOptions {
  std::vector<std::int64_t> milestones = {};  // In ascending order.
  double gamma = 0.1;
};
// base gamma^(number of milestones up to and including step).
Schedule multi_step_lr(const MultiStepOptions& options);

struct CosineAnnealingOptions {
  std::int64_t max_steps = 1;  // PyTorch's T_max.
  double min_rate = 0.0;       // eta_min
};
// min + (base - min) (1 + cos(pi step / max_steps)) / 2; beyond max_steps it
// rises again.
Schedule cosine_annealing_lr(const CosineAnnealingOptions& options);

struct LinearOptions {
  double start_factor = 1.0 / 3;
  double end_factor = 1.0;
  std::int64_t total_steps = 5;
};
// base times a factor that goes from start to end linearly, and stays there.
Schedule linear_lr(const LinearOptions& options);

// base factor(step).
Schedule lambda_lr(std::function<double(std::int64_t step)> factor);

// schedules[i] from milestone i - 1 on, with its steps counted from 0 there.
// Milestones are one fewer than schedules, in ascending order.
Schedule sequential_lr(std::vector<Schedule> schedules,
                       std::vector<std::int64_t> milestones);

// Not thread-safe. The optimizer outlives it.
class LRScheduler {
 public:
  // Sets the rates of step 0; the optimizer's present rates are the bases.
  LRScheduler(Optimizer& optimizer, Schedule schedule);
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  // Sets the rates of the next step.
  void step();

  std::int64_t num_steps() const { return steps_; }

  // The number of the step and the bases: "step", "base_rates". The program
  // must recreate the schedule itself.
  nn::StateDict state_dict() const;
  // Continues from a state: sets the rates.
  //   InvalidArgument  keys are missing or unknown, the step is negative, or
  //                    there are not as many bases as groups
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {});

 private:
  void set_rates();

  Optimizer& optimizer_;
  const Schedule schedule_;
  std::vector<double> bases_;  // By group.
  std::int64_t steps_ = 0;
};

}  // namespace optim
}  // namespace hvd
