// SPDX-License-Identifier: Apache-2.0
// Statistics, bounds and tests of elements, composed of other operations, with
// PyTorch's names.
//
//   auto [low, high] = hvd::aminmax(images);
//   hvd::Tensor unit = hvd::normalize(features);      // rows of length 1
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/reductions/statistics_ops.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// std() or var(), and mean(), over the same dimensions.
struct SpreadResult {
  Tensor spread;
  Tensor mean;
};
SpreadResult std_mean(const Tensor& x, const autograd::Dims& dims = {},
                      const VarOptions& options = {});
SpreadResult var_mean(const Tensor& x, const autograd::Dims& dims = {},
                      const VarOptions& options = {});

// amin() and amax().
struct ExtremesResult {
  Tensor min;
  Tensor max;
};
ExtremesResult aminmax(const Tensor& x, const autograd::Dims& dims = {},
                       bool keepdim = false);

// vector_norm(a - b, order),  a ~ b
Tensor dist(const Tensor& a, const Tensor& b, double order = 2);

struct NormalizeOptions {
  double order = 2;
  std::int64_t dim = 1;
  double eps = 1e-12;  // The least norm to divide by.
};
// x over its norm along a dimension. (torch.nn.functional.normalize)
Tensor normalize(const Tensor& x, const NormalizeOptions& options = {});

Tensor clamp_min(const Tensor& x, double low);
Tensor clamp_max(const Tensor& x, double high);

Tensor deg2rad(const Tensor& x);
Tensor rad2deg(const Tensor& x);
Tensor isposinf(const Tensor& x);
Tensor isneginf(const Tensor& x);

// The integral of y along a dimension by trapezoids of this width; 0 if there
// are less than two elements.
Tensor trapezoid(const Tensor& y, double dx = 1, std::int64_t dim = -1);

}  // namespace hvd
