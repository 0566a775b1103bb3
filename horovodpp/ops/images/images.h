// SPDX-License-Identifier: Apache-2.0
// Operations on images [n, channels, height, width], or with a depth before the
// height, or with a width alone: convolution, pooling, and the layout in memory.
//
// Results of convolutions and max pools are channels-last for any operand, the
// fastest layout for convolutions; elementwise operations keep it. Averages of
// row-major images are row-major. So use reshape() on results; view() throws
// where it would have to copy. Operands in another layout are copied.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"  // IWYU pragma: export
#include "horovodpp/ops/reduce_ops.h"
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

// Convolutions of 1, 2 and 3 dimensions, with PyTorch's names, defaults and
// values. Differentiable to any order.
//
//   hvd::Tensor y = hvd::conv2d(x, weight, bias, {.padding = {1, 1}});
//
// Images are [n, channels, size], or [channels, size], channels last; a size is
// {depth, height, width}, {height, width} or a width. Computes in float32,
// float64 and, with float32 sums, in the 16-bit types.
//
// InvalidArgument, with the shapes, if shapes do not fit.

// y[n,o] = bias[o] + sum_c w[o,c] (cross-correlated with) x[n,c], where c runs
// over the channels of o's group:  weight [out, in / groups, kernel], bias
// [out] or undefined -> [n, out, size]
Tensor conv1d(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor(), const Conv1dOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor(), const Conv2dOptions& options = {});
Tensor conv3d(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor(), const Conv3dOptions& options = {});

// The gradient of a convolution by its input, plus the bias:  weight
// [in, out / groups, kernel] -> [n, out, (size - 1) stride - 2 padding +
// dilation (kernel - 1) + output_padding + 1]
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight,
                        const Tensor& bias = Tensor(),
                        const ConvTranspose1dOptions& options = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight,
                        const Tensor& bias = Tensor(),
                        const ConvTranspose2dOptions& options = {});
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight,
                        const Tensor& bias = Tensor(),
                        const ConvTranspose3dOptions& options = {});

// Pools of images [n, channels, size] or [channels, size], with PyTorch's names,
// defaults and values.
//
//   y = hvd::max_pool2d(hvd::relu(y), {.kernel = {2, 2}});
//
// InvalidArgument, with the shapes, if shapes do not fit.

template <typename Size>
struct MaxPoolOptions {
  Size kernel = 1;
  Size stride = 0;  // 0: the kernel's size.
  Size padding = 0;
  Size dilation = 1;
  bool ceil_mode = false;  // Keep windows that extend past the end.
};
using MaxPool1dOptions = MaxPoolOptions<std::int64_t>;
using MaxPool2dOptions = MaxPoolOptions<Pair>;
using MaxPool3dOptions = MaxPoolOptions<Triple>;

// The largest element of each window; NaN counts as the largest. The first of
// equal elements gets the gradient.
Tensor max_pool1d(const Tensor& x, const MaxPool1dOptions& options);
Tensor max_pool2d(const Tensor& x, const MaxPool2dOptions& options);
Tensor max_pool3d(const Tensor& x, const MaxPool3dOptions& options);
// The largest elements of size windows that cover the image.
Tensor adaptive_max_pool1d(const Tensor& x, std::int64_t size);
Tensor adaptive_max_pool2d(const Tensor& x, Pair size);
Tensor adaptive_max_pool3d(const Tensor& x, Triple size);

// The same with the int64 index of each element in the image of its channel, or
// -1 for a dilated window that misses the image.
MaxResult max_pool1d_with_indices(const Tensor& x,
                                  const MaxPool1dOptions& options);
MaxResult max_pool2d_with_indices(const Tensor& x,
                                  const MaxPool2dOptions& options);
MaxResult max_pool3d_with_indices(const Tensor& x,
                                  const MaxPool3dOptions& options);
MaxResult adaptive_max_pool1d_with_indices(const Tensor& x, std::int64_t size);
MaxResult adaptive_max_pool2d_with_indices(const Tensor& x, Pair size);
MaxResult adaptive_max_pool3d_with_indices(const Tensor& x, Triple size);

template <typename Size>
struct AvgPoolOptions {
  Size kernel = 1;
  Size stride = 0;  // 0: the kernel's size.
  Size padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;      // Whether the divisor counts padding.
  std::int64_t divisor_override = 0;  // 0: the number of elements.
};
using AvgPool1dOptions = AvgPoolOptions<std::int64_t>;
using AvgPool2dOptions = AvgPoolOptions<Pair>;
using AvgPool3dOptions = AvgPoolOptions<Triple>;

// The mean of each window.
Tensor avg_pool1d(const Tensor& x, const AvgPool1dOptions& options);
Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options);
Tensor avg_pool3d(const Tensor& x, const AvgPool3dOptions& options);
// The means of size windows that cover the image.
Tensor adaptive_avg_pool1d(const Tensor& x, std::int64_t size);
Tensor adaptive_avg_pool2d(const Tensor& x, Pair size);
Tensor adaptive_avg_pool3d(const Tensor& x, Triple size);

}  // namespace hvd
