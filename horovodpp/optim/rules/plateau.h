// SPDX-License-Identifier: Apache-2.0
// ReduceLROnPlateau lowers the learning rates when a metric stops improving,
// like PyTorch's of the same name.
//
//   hvd::optim::ReduceLROnPlateau scheduler(optimizer, {.patience = 3});
//   for (...) { …; scheduler.step(validation_loss); }
//
// All ranks must pass the same metric: reduce it first. Not thread-safe. The
// optimizer outlives it.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct PlateauOptions {
  bool maximize = false;       // Whether a larger metric is better.
  double factor = 0.1;         // Of the new rate to the old; below 1.
  std::int64_t patience = 10;  // Steps without improvement that are tolerated.
  double threshold = 1e-4;     // The smallest improvement,
  bool relative = true;        // as a part of the best metric.
  std::int64_t cooldown = 0;   // Steps after a reduction that do not count.
  double min_rate = 0.0;
  double eps = 1e-8;  // Smaller reductions are left out.
};

class ReduceLROnPlateau {
 public:
  //   InvalidArgument  an option makes no sense
  explicit ReduceLROnPlateau(Optimizer& optimizer,
                             const PlateauOptions& options = {});
  ReduceLROnPlateau(const ReduceLROnPlateau&) = delete;
  ReduceLROnPlateau& operator=(const ReduceLROnPlateau&) = delete;

  // Counts a metric, and lowers the rates if it is time.
  void step(double metric);

  double best() const { return best_; }

  // "best", "bad_steps" and "cooldown". The rates are part of the optimizer's
  // state.
  nn::StateDict state_dict() const;
  //   InvalidArgument  keys are missing or unknown, or a count is negative
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {});

 private:
  bool improves(double metric) const;
  void reduce();

  Optimizer& optimizer_;
  const PlateauOptions options_;
  double best_;
  std::int64_t bad_steps_ = 0;
  std::int64_t cooldown_ = 0;  // Steps that still do not count.
};

}  // namespace optim
}  // namespace hvd
