// SPDX-License-Identifier: Apache-2.0
// The inverses of max pools, and pools by a power, with PyTorch's names, defaults
// and values. They are compositions.
//
//   auto [y, places] = hvd::max_pool2d_with_indices(x, {.kernel = 2});
//   hvd::Tensor wide = hvd::max_unpool2d(y, places, {.kernel = 2});
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/products/conv_options.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

template <typename Size>
struct MaxUnpoolOptions {
  Size kernel = 1;
  Size stride = 0;  // 0: the kernel's size.
  Size padding = 0;
  // The result's size; 0: the smallest image with as many windows as x has
  // elements. As in PyTorch, another size differs by less than a stride.
  Size output_size = 0;
};
using MaxUnpool1dOptions = MaxUnpoolOptions<std::int64_t>;
using MaxUnpool2dOptions = MaxUnpoolOptions<Pair>;
using MaxUnpool3dOptions = MaxUnpoolOptions<Triple>;

// Zeros, except for the elements of x at the int64 `indices` of a max pool. If
// an index repeats, the last element stays.
Tensor max_unpool1d(const Tensor& x, const Tensor& indices,
                    const MaxUnpool1dOptions& options);
Tensor max_unpool2d(const Tensor& x, const Tensor& indices,
                    const MaxUnpool2dOptions& options);
Tensor max_unpool3d(const Tensor& x, const Tensor& indices,
                    const MaxUnpool3dOptions& options);

template <typename Size>
struct LPPoolOptions {
  double power = 2;
  Size kernel = 1;
  Size stride = 0;  // 0: the kernel's size.
  bool ceil_mode = false;
};
using LPPool1dOptions = LPPoolOptions<std::int64_t>;
using LPPool2dOptions = LPPoolOptions<Pair>;
using LPPool3dOptions = LPPoolOptions<Triple>;

// (sum of x^power)^(1 / power) of each window. The gradient is NaN where a sum
// is 0, as PyTorch's.
Tensor lp_pool1d(const Tensor& x, const LPPool1dOptions& options);
Tensor lp_pool2d(const Tensor& x, const LPPool2dOptions& options);
Tensor lp_pool3d(const Tensor& x, const LPPool3dOptions& options);

}  // namespace hvd
