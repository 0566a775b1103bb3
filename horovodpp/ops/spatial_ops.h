// Operations on images and normalizations, with the names, defaults and values
// of PyTorch. Differentiable as often as one likes.
//
//   hvd::Tensor y = hvd::conv2d(x, weight, bias, {.padding = {1, 1}});
//   y = hvd::max_pool2d(hvd::relu(y), {.kernel = {2, 2}});
//
// Images are [n, channels, height, width]; pairs are {of the height, of the
// width}. Computed in float32, float64 and, adding up in float32, in the 16-bit
// types.
//
// Results on images lie in memory with their channels last, whatever the
// operand: what is fastest for convolutions, which elementwise operations keep.
// So reshape() them; view() refuses where it would have to copy. Operands that
// lie otherwise are copied.
//
// InvalidArgument with the shapes, if they do not fit.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/conv_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// A copy of the images `x` with channels last; x itself if it lies so.
Tensor channels_last(const Tensor& x);

// --- Convolution: conv_ops.cc ---
// y[n,o] = bias[o] + sum_c w[o,c] (cross-correlated with) x[n,c], where c are
// the channels of o's group:  weight [out, in / groups, kh, kw], bias [out] or
// undefined -> [n, out, oh, ow]
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor(), const Conv2dOptions& options = {});

// --- Pooling: max_pool.cc, average_pool.cc. On [n, c, h, w] or [c, h, w] ---
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

struct AvgPool2dOptions {
  Pair kernel = 1;
  Pair stride = 0;  // 0: that of the kernel.
  Pair padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // Whether to divide by what is padding, too.
};
// The mean of each window.
Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options);
// The means of size.height x size.width windows that cover the image.
Tensor adaptive_avg_pool2d(const Tensor& x, Pair size);

// --- Normalization: batch_norm.cc, layer_norm.cc ---
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;
  double eps = 1e-5;
};
// (x - mean) / sqrt(var + eps) * weight + bias for each channel:  x [n, c, ...],
// the others [c]; weight and bias may be undefined. While training, mean and var
// are those of x over all but c, and the running ones become
// (1 - momentum) running + momentum new, with the unbiased variance; but not
// while a checkpoint recomputes, since they did when it computed. Else they are
// the running ones. Where x has 16 bits, the others may be float32.
//   InvalidArgument  training with one element per channel; not training
//                    without running statistics
Tensor batch_norm(const Tensor& x, const Tensor& running_mean,
                  const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options = {});

// The same over the last dimensions, which are `normalized_shape`, as are those
// of weight and bias; these may be undefined.
Tensor layer_norm(const Tensor& x, const autograd::Dims& normalized_shape,
                  const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);

namespace autograd {

// Strides of [n, c, ...] with the channels last.
Dims channels_last_strides(const Dims& sizes);

// Whether the images `x` lie with their channels last.
bool is_channels_last(const Tensor& x);

// An image tensor like that, not initialized.
Tensor empty_channels_last(const Dims& sizes, DType dtype);

}  // namespace autograd
}  // namespace hvd
