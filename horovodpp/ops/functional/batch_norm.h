// SPDX-License-Identifier: Apache-2.0
// Normalization of each channel over a batch.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;
  double eps = 1e-5;
};
// (x - mean) / sqrt(var + eps) * weight + bias for each channel:  x [n, c, ...],
// the others [c]; weight and bias may be undefined. While training, mean and var
// are those of x over all but c, and the running ones become
// (1 - momentum) running + momentum new, with the unbiased variance; but not
// while a checkpoint recomputes, since they did when it computed. Else they are
// the running ones. Where x has 16 bits, the others may be float32.
//   InvalidArgument  training with one element per channel; not training
//                    without running statistics
Tensor batch_norm(const Tensor& x, const Tensor& running_mean,
                  const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options = {});

}  // namespace hvd
