// SPDX-License-Identifier: Apache-2.0
// LayerNorm normalizes the last dimensions of each item to mean 0 and variance
// 1, then scales and shifts them.
//
//   hvd::nn::LayerNorm norm({128});
//   hvd::Tensor y = norm(x);             // [n, t, 128] -> the same
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/tensor/base/dims.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  // Whether to scale and shift.
  bool bias = true;                // Whether to shift.
  DType dtype = DType::kF32;
};

class LayerNorm : public Module {
 public:
  // "weight" (1) and "bias" (0), of the normalized shape.
  //   InvalidArgument  the shape is empty, or a size is not positive
  explicit LayerNorm(const autograd::Dims& normalized_shape,
                     const LayerNormOptions& options = {});

  Tensor forward(const Tensor& input) override;

  const Tensor& weight() const { return weight_; }  // Undefined if absent.
  const Tensor& bias() const { return bias_; }

 private:
  const autograd::Dims shape_;
  const double eps_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace nn
}  // namespace hvd
