// SPDX-License-Identifier: Apache-2.0
// While a Frozen is in scope, backward computes no gradients of its parameters.
// So the loss of one model leaves the gradients of another alone. A
// generator's loss, for example, passes through the discriminator:
//
//   const hvd::libtorch::Frozen frozen(discriminator->parameters());
//   loss_of(discriminator->forward(generator->forward(noise))).backward();
//   of_generator.step();
//
// Its parameters are leaves of the graph. It ends after that backward.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

class [[nodiscard]] Frozen {
 public:
  explicit Frozen(const std::vector<torch::Tensor>& parameters) {
    for (const torch::Tensor& parameter : parameters) {
      if (!parameter.requires_grad()) continue;
      frozen_.push_back(parameter);
      parameter.set_requires_grad(false);
    }
  }
  // Parameters that were frozen before stay so.
  ~Frozen() {
    for (const torch::Tensor& parameter : frozen_) {
      parameter.set_requires_grad(true);
    }
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  std::vector<torch::Tensor> frozen_;
};

}  // namespace libtorch
}  // namespace hvd
