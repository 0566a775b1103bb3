// SPDX-License-Identifier: Apache-2.0
// Max pooling of [n, c, h, w] or [c, h, w], with PyTorch's names, defaults and
// values. layout.h describes the layout of results.
//
//   y = hvd::max_pool2d(hvd::relu(y), {.kernel = {2, 2}});
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct MaxPool2dOptions {
  Pair kernel = 1;
  Pair stride = 0;  // 0: the kernel's size.
  Pair padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;  // Keep windows that extend past the end.
};
// The largest element of each window; NaN counts as the largest. The first of
// equal elements gets the gradient.
Tensor max_pool2d(const Tensor& x, const MaxPool2dOptions& options);

}  // namespace hvd
