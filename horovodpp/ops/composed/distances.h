// SPDX-License-Identifier: Apache-2.0
// Distances, products of vectors, covariances and integrals, composed of other
// operations, with PyTorch's names.
//
//   hvd::Tensor nearest = hvd::argmin(hvd::cdist(points, centers));
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The norm of each difference of rows: a [..., n, k], b [..., m, k] ->
// [..., n, m], whose other dimensions ~. For order 2 and more than 25 rows by a
// matrix product, which is less exact; else with memory for all differences.
Tensor cdist(const Tensor& a, const Tensor& b, double order = 2);

// a × b along a dimension of 3 elements,  a ~ b
Tensor cross(const Tensor& a, const Tensor& b, std::int64_t dim = -1);
// dot() of real vectors.
Tensor vdot(const Tensor& a, const Tensor& b);

// The covariances of variables, the rows of x [n, observations] or one in
// x [observations]; [n, n], or a scalar for one variable.
Tensor cov(const Tensor& x, std::int64_t correction = 1);
// The same of weighted observations.
//   InvalidArgument  weights are negative or sum to 0
struct CovOptions {
  std::int64_t correction = 1;
  Tensor fweights = {};  // Integers [observations]: repetitions.
  Tensor aweights = {};  // Floating point [observations]: importance.
};
Tensor cov(const Tensor& x, const CovOptions& options);
// The covariances divided by both standard deviations, within [-1, 1].
Tensor corrcoef(const Tensor& x);

// The integral of y up to each element but the first, by trapezoids.
Tensor cumulative_trapezoid(const Tensor& y, double dx = 1,
                            std::int64_t dim = -1);

}  // namespace hvd
