// SPDX-License-Identifier: Apache-2.0
// Operations on images [n, channels, height, width]: convolution, pooling, and
// the layout in memory.
//
// Results of conv2d() and max_pool2d() are channels-last for any operand, the
// fastest layout for convolutions; elementwise operations keep it. Averages of
// row-major images are row-major. So use reshape() on results; view() throws
// where it would have to copy. Operands in another layout are copied.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The images `x` in channels-last layout: a copy, or x itself.
Tensor channels_last(const Tensor& x);

namespace autograd {

// Channels-last strides of [n, c, ...].
Dims channels_last_strides(const Dims& shape);

// Whether the images `x` are in channels-last layout.
bool is_channels_last(const Tensor& x);

// An uninitialized channels-last image tensor.
Tensor empty_channels_last(const Dims& shape, DType dtype);

}  // namespace autograd

// 2-d convolution, with PyTorch's names, defaults and values. Differentiable to
// any order.
//
//   hvd::Tensor y = hvd::conv2d(x, weight, bias, {.padding = {1, 1}});
//
// Images are [n, channels, height, width], channels last; pairs are
// {height, width}. Computes in float32, float64 and, with float32 sums, in the
// 16-bit types.
//
// InvalidArgument, with the shapes, if shapes do not fit.

// y[n,o] = bias[o] + sum_c w[o,c] (cross-correlated with) x[n,c], where c runs
// over the channels of o's group:  weight [out, in / groups, kh, kw], bias
// [out] or undefined -> [n, out, oh, ow]
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor(), const Conv2dOptions& options = {});

// Max pooling of [n, c, h, w] or [c, h, w], with PyTorch's names, defaults and
// values.
//
//   y = hvd::max_pool2d(hvd::relu(y), {.kernel = {2, 2}});
//
// InvalidArgument, with the shapes, if shapes do not fit.

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

// Average pooling of [n, c, h, w] or [c, h, w], with PyTorch's names, defaults
// and values.
//
// InvalidArgument, with the shapes, if shapes do not fit.

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
