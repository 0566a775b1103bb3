// SPDX-License-Identifier: Apache-2.0
// Max pooling.
//
//   y = hvd::max_pool2d(hvd::relu(y), {.kernel = {2, 2}});
//
// On [n, c, h, w] or [c, h, w], with PyTorch's names, defaults and values; results
// lie as layout.h says.
//
// InvalidArgument with the shapes, if they do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct MaxPool2dOptions {
  Pair kernel = 1;
  Pair stride = 0;  // 0: that of the kernel.
  Pair padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;  // Keep windows that hang over the end.
};
// The largest of each window; NaN is larger than everything. The gradient goes
// to the first of equals.
Tensor max_pool2d(const Tensor& x, const MaxPool2dOptions& options);

}  // namespace hvd
