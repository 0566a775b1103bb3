// SPDX-License-Identifier: Apache-2.0
// A GradScaler keeps gradients of narrow types from underflow. It multiplies
// the loss by a factor, and divides the gradients before the step. If gradients
// have overflowed, the step is skipped and the factor shrinks; after many steps
// without overflow it grows. Works like PyTorch's class of the same name:
//
//   hvd::GradScaler scaler;
//   for (...) {
//     optimizer.zero_grad();
//     scaler.scale(loss(model(x), y)).backward();
//     optimizer.step({.max_norm = 1.0, .grad_scaler = &scaler});
//   }
//
// Or step by step, with any optimizer, or with several that share one scaler:
//
//   scaler.unscale_(optimizer);                 // Only to change gradients:
//   hvd::clip_grad_norm_(parameters, 1.0);
//   scaler.step(optimizer);                     // or leaves it out
//   scaler.update();                            // once for all optimizers
//
// All ranks find the same in reduced gradients, so their factors stay equal.
//
// Not thread-safe. An optimizer outlives its part in a step.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <map>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/optim/optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct GradScalerOptions {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  // The number of successive steps without overflow after which the factor
  // grows.
  std::int64_t growth_interval = 2000;
  // If false, the factor is 1 and no step is skipped.
  bool enabled = true;

  // Throws InvalidArgument.
  void check() const;
};

class GradScaler {
 public:
  //   InvalidArgument  the scale is not positive, the growth factor not above
  //                    1, the backoff factor not between 0 and 1, or the
  //                    interval below 1
  explicit GradScaler(const GradScalerOptions& options = {});

  // The loss times the factor.
  Tensor scale(const Tensor& loss) const;

  // Divides the gradients of `optimizer` by the factor, and checks whether they
  // are finite.
  //   hvd::Error (FailedPrecondition)  it has been done since update()
  void unscale_(Optimizer& optimizer);

  // Calls unscale_(), unless that has been done, and makes a step if all
  // gradients are finite. Returns whether it stepped.
  //   hvd::Error (FailedPrecondition)  it has been called since update()
  bool step(Optimizer& optimizer);

  // Sets the factor of the next step: smaller if an optimizer's gradients were
  // not finite.
  //   hvd::Error (FailedPrecondition)  no gradients were checked since the last
  //                                    update()
  void update();

  // For callers that divide by the factor themselves: records that the
  // gradients of `optimizer` were checked, and that its step is over.
  void note(const Optimizer& optimizer, bool is_finite);

  double factor() const { return options_.enabled ? factor_ : 1.0; }
  bool enabled() const { return options_.enabled; }

  // The factor, the number of steps since it changed, and the options.
  nn::StateDict state_dict() const;
  //   InvalidArgument  keys are missing or unknown, or a value makes no sense;
  //                    nothing changes
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {});

 private:
  struct Progress {
    bool is_finite = true;
    bool stepped = false;
  };

  GradScalerOptions options_;
  double factor_;
  std::int64_t good_steps_ = 0;
  std::map<const Optimizer*, Progress> progress_;  // Since update().
};

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::GradScaler;
}  // namespace hvd
