// SPDX-License-Identifier: Apache-2.0
// Dropout: while training, each element becomes 0 with probability p and the
// others grow by 1 / (1 - p). In evaluation, nothing.
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
