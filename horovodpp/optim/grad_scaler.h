// SPDX-License-Identifier: Apache-2.0
// A GradScaler keeps the gradients of narrow types from vanishing: it multiplies
// the loss, and divides the gradients before the step. A step whose gradients
// have overflowed is left out, and the factor becomes smaller; after many that
// have not, larger. As PyTorch's of this name.
//
//   hvd::GradScaler scaler;
//   for (...) {
//     optimizer.zero_grad();
//     scaler.scale(loss(model(x), y)).backward();
//     optimizer.step({.max_norm = 1.0, .grad_scaler = &scaler});
//   }
//
// Or in steps, with any optimizer, or several that have one scaler:
//
//   scaler.unscale_(optimizer);                 // Only to change gradients:
//   hvd::clip_grad_norm_(parameters, 1.0);
//   scaler.step(optimizer);                     // or leaves it out
//   scaler.update();                            // once for all optimizers
//
// Of reduced gradients all ranks find the same, so their factors stay equal.
//
// Not thread-safe. Optimizers outlive their part in a step.
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
  // Steps without overflow, one after the other, until the factor grows.
  std::int64_t growth_interval = 2000;
  // Whether it does anything; otherwise the factor is 1 and no step left out.
  bool enabled = true;

  // Throws InvalidArgument.
  void check() const;
};

class GradScaler {
 public:
  //   InvalidArgument  the scale is not positive, the growth factor not above 1,
  //                    the backoff factor not between 0 and 1, or the interval
  //                    below 1
  explicit GradScaler(const GradScalerOptions& options = {});

  // The loss times the factor.
  Tensor scale(const Tensor& loss) const;

  // Divides the gradients of `optimizer` by the factor, and looks whether they
  // are finite.
  //   hvd::Error (FailedPrecondition)  it has been done since update()
  void unscale_(Optimizer& optimizer);

  // unscale_(), unless that has been done, and a step, if all gradients are
  // finite. Whether there was a step.
  //   hvd::Error (FailedPrecondition)  it has been called since update()
  bool step(Optimizer& optimizer);

  // Makes the factor that of the next step: smaller if an optimizer's gradients
  // were not finite.
  //   hvd::Error (FailedPrecondition)  no gradients were looked at since the last
  //                                    one
  void update();

  // For those who divide by the factor on their own: notes that the gradients of
  // `optimizer` were looked at, and that its step is over.
  void note(const Optimizer& optimizer, bool is_finite);

  double factor() const { return options_.enabled ? factor_ : 1.0; }
  bool enabled() const { return options_.enabled; }

  // The factor, how many steps it has held, and the options.
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
