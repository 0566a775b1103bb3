// SPDX-License-Identifier: Apache-2.0
// 2-d convolution, with PyTorch's names, defaults and values. Differentiable to
// any order.
//
//   hvd::Tensor y = hvd::conv2d(x, weight, bias, {.padding = {1, 1}});
//
// Images are [n, channels, height, width], in the layout of layout.h; pairs are
// {height, width}. Computes in float32, float64 and, with float32 sums, in the
// 16-bit types.
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// y[n,o] = bias[o] + sum_c w[o,c] (cross-correlated with) x[n,c], where c runs
// over the channels of o's group:  weight [out, in / groups, kh, kw], bias
// [out] or undefined -> [n, out, oh, ow]
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor(), const Conv2dOptions& options = {});

}  // namespace hvd
