// SPDX-License-Identifier: Apache-2.0
// Patches of images as columns (im2col), and images from patches, with
// PyTorch's names and defaults.
//
//   hvd::Tensor columns = hvd::unfold(images, {.kernel = 3});
//   // [n, c, h, w] -> [n, 9 c, (h - 2) (w - 2)]
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct PatchOptions {
  Pair kernel = 1;
  Pair dilation = 1;
  Pair padding = 0;  // Zeros around the image.
  Pair stride = 1;
};

// [n, c, h, w] -> [n, c kh kw, patches]; or without n.
Tensor unfold(const Tensor& x, const PatchOptions& options);
// The sum of the patches at their places in images of this size:
// [n, c kh kw, patches] -> [n, c, size.height, size.width]; or without n.
Tensor fold(const Tensor& x, Pair size, const PatchOptions& options);

}  // namespace hvd
