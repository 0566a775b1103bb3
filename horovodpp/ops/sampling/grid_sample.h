// SPDX-License-Identifier: Apache-2.0
// Reads images at the places of a grid, and makes grids of affine maps, with
// PyTorch's names, defaults and values. Differentiable to any order.
//
//   hvd::Tensor grid = hvd::affine_grid(theta, {n, 3, 32, 32});
//   hvd::Tensor turned = hvd::grid_sample(images, grid);
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/sampling/modes.h"  // IWYU pragma: export
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct GridSampleOptions {
  // kNearest, kLinear or, for images of 2 dimensions, kCubic. As in PyTorch,
  // kNearest reads the nearest pixel.
  InterpolateMode mode = InterpolateMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  // Whether -1 and 1 are the centers of the corner pixels, not their outer edges.
  bool align_corners = false;
};

// x [n, c, height, width], grid [n, h, w, 2] -> [n, c, h, w], or with a depth
// before the height. The last dimension of the grid is a place (x, y) or
// (x, y, z) in [-1, 1]; x is along the width. Both have one dtype; 16-bit types
// are computed in float32.
Tensor grid_sample(const Tensor& x, const Tensor& grid,
                   const GridSampleOptions& options = {});

// The grid for results of this size, [n, c, h, w] or [n, c, d, h, w]: the places
// theta (x, y, 1).  theta [n, 2, 3] or [n, 3, 4]
Tensor affine_grid(const Tensor& theta, const autograd::Dims& size,
                   bool align_corners = false);

}  // namespace hvd
