// SPDX-License-Identifier: Apache-2.0
// Quantiles, norms of slices, and equality, composed of other operations.
//
//   hvd::Tensor quartiles = hvd::quantile(x, hvd::linspace(0, 1, 5));
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The result if a quantile lies between two elements: interpolated linearly,
// one of the two, or their mean.
enum class Interpolation { kLinear, kLower, kHigher, kNearest, kMidpoint };

struct QuantileOptions {
  std::optional<std::int64_t> dim;  // All elements unless given.
  bool keepdim = false;
  Interpolation interpolation = Interpolation::kLinear;
};

// The q-quantiles: a share q of the elements lies below. q is [] or [m]; the
// dimension of [m] comes first in the result. NaN if an element is NaN. Takes
// float32 and float64.
//   InvalidArgument  a share is outside [0, 1]; there are no elements
Tensor quantile(const Tensor& x, const Tensor& q,
                const QuantileOptions& options = {});
// The same of the elements that are not NaN.
Tensor nanquantile(const Tensor& x, const Tensor& q,
                   const QuantileOptions& options = {});

// vector_norm() under PyTorch's older name.
Tensor norm(const Tensor& x, double order = 2, const autograd::Dims& dims = {},
            bool keepdim = false);
// x with each slice along `dim` scaled so that its norm is at most `limit`.
Tensor renorm(const Tensor& x, double order, std::int64_t dim, double limit);

// Whether shapes and all elements are equal. NaN equals nothing.
bool equal(const Tensor& a, const Tensor& b);

}  // namespace hvd
