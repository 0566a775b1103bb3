// SPDX-License-Identifier: Apache-2.0
// Average pooling of [n, c, h, w] or [c, h, w], with PyTorch's names, defaults
// and values. layout.h describes the layout of results.
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct AvgPool2dOptions {
  Pair kernel = 1;
  Pair stride = 0;  // 0: the kernel's size.
  Pair padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // Whether the divisor counts padding.
};
// The mean of each window.
Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options);
// The means of size.height x size.width windows that cover the image.
Tensor adaptive_avg_pool2d(const Tensor& x, Pair size);

}  // namespace hvd
