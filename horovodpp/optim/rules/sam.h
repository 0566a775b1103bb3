// SPDX-License-Identifier: Apache-2.0
// SAM, sharpness-aware minimization (Foret et al. 2021): an optimizer steps
// along the gradient at the worst point nearby, a distance rho up the slope.
//
//   hvd::optim::SAM optimizer(std::make_unique<hvd::optim::SGD>(...),
//                             {.rho = 0.05});
//   for (...) {
//     optimizer.zero_grad();
//     loss(model(x), y).backward();
//     optimizer.ascend();             // To the worst point; drops gradients.
//     loss(model(x), y).backward();
//     optimizer.step();               // Back, and a step along this gradient.
//   }
//
// Around a DistributedOptimizer, ascend() waits for the reduced gradients, so
// that all ranks go to one point.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <memory>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/optimizer_wrapper.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct SAMOptions {
  double rho = 0.05;
  // Scales each element of the ascent by the element's own square (Kwon et al.
  // 2021).
  bool adaptive = false;
};

class SAM : public OptimizerWrapper {
 public:
  //   InvalidArgument  there is no optimizer, or rho is negative
  explicit SAM(std::unique_ptr<Optimizer> wrapped,
               const SAMOptions& options = {});

  // Moves the parameters by rho g / |g| and drops the gradients.
  //   InvalidArgument  step() has not ended the last ascent; a gradient is
  //                    sparse
  void ascend();
  // Undoes the ascent, if there was one, and lets the wrapped optimizer step.
  void step() override;
  void finish_gradients() override { wrapped().finish_gradients(); }
  void zero_grad(bool set_to_none = true) override {
    wrapped().zero_grad(set_to_none);
  }

 private:
  void descend();

  const SAMOptions options_;
  std::vector<Tensor> origins_;  // By parameter; empty: not ascended.
};

}  // namespace optim
}  // namespace hvd
