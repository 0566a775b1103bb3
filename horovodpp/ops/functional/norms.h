// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalization.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Batch normalization: normalizes each channel over a batch.

struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;
  double eps = 1e-5;
};
// (x - mean) / sqrt(var + eps) * weight + bias for each channel:  x [n, c,
// ...], the others [c]; weight and bias may be undefined. For a 16-bit x, the
// others may be float32.
// - Training: mean and var are of x over all dimensions but c. Running
//   statistics become (1 - momentum) running + momentum new, with the unbiased
//   variance. A checkpoint's recomputation does not update them again.
// - Otherwise: mean and var are the running statistics.
//   InvalidArgument  training with one element per channel; not training
//                    without running statistics
Tensor batch_norm(const Tensor& x, const Tensor& running_mean,
                  const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options = {});

// Layer normalization: normalizes each row.

// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions of x.
// `normalized_shape` is the shape of these dimensions and of weight and bias,
// which may be undefined.
Tensor layer_norm(const Tensor& x, const autograd::Dims& normalized_shape,
                  const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);

}  // namespace hvd
