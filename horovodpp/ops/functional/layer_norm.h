// SPDX-License-Identifier: Apache-2.0
// Layer normalization: normalizes each row.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions of x.
// `normalized_shape` is the shape of these dimensions and of weight and bias,
// which may be undefined.
Tensor layer_norm(const Tensor& x, const autograd::Dims& normalized_shape,
                  const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);

}  // namespace hvd
