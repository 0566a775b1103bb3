// SPDX-License-Identifier: Apache-2.0
// Dropout: in training, sets each element to 0 with probability p and scales
// the others by 1 / (1 - p). In evaluation, the identity.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

class Dropout : public Module {
 public:
  //   InvalidArgument  p is not in [0, 1]
  explicit Dropout(double p = 0.5);

  Tensor forward(const Tensor& input) override;

 private:
  const double p_;
};

}  // namespace nn
}  // namespace hvd
