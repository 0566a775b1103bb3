// SPDX-License-Identifier: Apache-2.0
// The derivative of a function from its values at points, as PyTorch's gradient.
//
//   std::vector<hvd::Tensor> slopes = hvd::gradient(y, {.spacing = {0.1}});
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct GradientOptions {
  // Of the derivatives, in the result's order. Empty: all.
  std::vector<std::int64_t> dims = {};
  // The distance of neighboring points, for each dimension or one for all.
  std::vector<double> spacing = {1};
  // The coordinates of the points instead, a vector for each dimension.
  std::vector<Tensor> coordinates = {};
  // 1 or 2: from how many more points the derivative at the first and the last
  // point is estimated.
  int edge_order = 1;
};

// For each dimension a tensor of x's shape: quotients of differences of second
// order inside (Fornberg, "Generation of finite difference formulas on
// arbitrarily spaced grids", 1988), and of edge_order at the ends; float32 for
// integers. A dimension has more than edge_order points.
std::vector<Tensor> gradient(const Tensor& x,
                             const GradientOptions& options = {});

}  // namespace hvd
