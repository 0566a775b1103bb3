// SPDX-License-Identifier: Apache-2.0
// Convolution, with PyTorch's names, defaults and values. Differentiable as often
// as one likes.
//
//   hvd::Tensor y = hvd::conv2d(x, weight, bias, {.padding = {1, 1}});
//
// Images are [n, channels, height, width] and lie as layout.h says; pairs are {of
// the height, of the width}. Computed in float32, float64 and, adding up in
// float32, in the 16-bit types.
//
// InvalidArgument with the shapes, if they do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// y[n,o] = bias[o] + sum_c w[o,c] (cross-correlated with) x[n,c], where c are
// the channels of o's group:  weight [out, in / groups, kh, kw], bias [out] or
// undefined -> [n, out, oh, ow]
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor(), const Conv2dOptions& options = {});

}  // namespace hvd
