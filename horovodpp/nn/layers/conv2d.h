// SPDX-License-Identifier: Apache-2.0
// Conv2d: 2-d convolution (cross-correlation) of images [n, in, h, w].
//
//   hvd::nn::Conv2d conv(1, 6, 5, {.padding = 2});
//   hvd::Tensor y = conv(images);        // [n, 1, 28, 28] -> [n, 6, 28, 28]
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/images/conv2d.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;  // Zeros on each side of the image.
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::kF32;
};

class Conv2d : public Module {
 public:
  // "weight" [out, in / groups, kh, kw] and "bias" [out], both uniform in
  // ±1/sqrt(in / groups kh kw).
  //   InvalidArgument  a size is not positive, or the groups do not divide the
  //                    channels
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, Pair kernel,
         const Conv2dOptions& options = {});

  Tensor forward(const Tensor& input) override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // Undefined without bias.

 private:
  const hvd::Conv2dOptions options_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace nn
}  // namespace hvd
