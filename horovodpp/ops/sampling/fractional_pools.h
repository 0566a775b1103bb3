// SPDX-License-Identifier: Apache-2.0
// Max pools with windows at random places (Graham, "Fractional Max-Pooling",
// arXiv:1412.6071), with PyTorch's names and values.
//
//   y = hvd::fractional_max_pool2d(x, {.kernel = 2, .output_ratio = {0.7, 0.7}});
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

template <typename Size>
struct FractionalMaxPoolOptions {
  Size kernel = 1;
  // The result's size. 0: the input's size times `output_ratio`, rounded down,
  // with a factor below 1 for each dimension.
  Size output_size = 0;
  std::vector<double> output_ratio = {};
  // [n, channels, dimensions] in [0, 1), which shift the windows: of the width,
  // then the height, or of the depth, the height, then the width. Undefined:
  // drawn from the generator.
  Tensor samples = {};
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<Pair>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<Triple>;

// The largest element of each window of images [n, channels, size] or
// [channels, size]; NaN counts as the largest.
Tensor fractional_max_pool2d(const Tensor& x,
                             const FractionalMaxPool2dOptions& options);
Tensor fractional_max_pool3d(const Tensor& x,
                             const FractionalMaxPool3dOptions& options);
// The same with the int64 index of each element in the image of its channel.
MaxResult fractional_max_pool2d_with_indices(
    const Tensor& x, const FractionalMaxPool2dOptions& options);
MaxResult fractional_max_pool3d_with_indices(
    const Tensor& x, const FractionalMaxPool3dOptions& options);

}  // namespace hvd
