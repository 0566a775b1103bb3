// SPDX-License-Identifier: Apache-2.0
// Searches in sorted numbers, distinct elements, and counts. Not differentiable,
// except that counts take any weights as plain numbers.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The places, int64, where `values` [..., m] would keep `sorted` [..., n] sorted
// along the last dimension: before equal elements or, with `right`, after them.
// `sorted` of one dimension serves values of any shape. Equal dtypes.
Tensor searchsorted(const Tensor& sorted, const Tensor& values,
                    bool right = false);
// The same for boundaries [n], which come second.
Tensor bucketize(const Tensor& values, const Tensor& boundaries,
                 bool right = false);

struct UniqueResult {
  Tensor values;   // [m], ascending; each NaN counts as distinct.
  Tensor inverse;  // Of x's shape: x = values[inverse].
  Tensor counts;   // [m]: how often each value occurs in x.
};

// The distinct elements of x.
UniqueResult unique(const Tensor& x);

// How often 0, 1, … occur in x [n] of non-negative integers: int64 of the
// largest plus 1 elements, at least `minlength`. With `weights` [n], the sums of
// the weights of each: of their dtype if that is floating, else float64.
Tensor bincount(const Tensor& x, const Tensor& weights = {},
                std::int64_t minlength = 0);

struct HistogramOptions {
  std::int64_t bins = 100;
  // Equal bounds stand for the smallest and the largest element.
  double min = 0.0;
  double max = 0.0;
};

// How many elements of x lie in each of `bins` equal parts of [min, max], in
// x's floating dtype. Elements outside, and NaN, are not counted.
Tensor histc(const Tensor& x, const HistogramOptions& options = {});

}  // namespace hvd
