// SPDX-License-Identifier: Apache-2.0
// Writes to elements that int64 indices name, with PyTorch's names. A name that
// ends in "_" writes to x itself and returns it.
//
//   hvd::Tensor sums = hvd::scatter_reduce(x, 0, index, source,
//                                          hvd::ScatterReduce::kSum);
//   hvd::index_add_(table, 0, rows, updates);
//
// Where a write has no sum, the last of repeated indices wins. Indices are not
// differentiable.
//
// InvalidArgument if an index is out of range or a shape does not fit; then
// nothing is written.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// x with x[index[i, j, ...], j, ...] = source[i, j, ...] for dim = 0, and
// likewise for other dims. `index` is no larger than x in any dimension but
// `dim`, and no larger than `source`.
Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index,
               const Tensor& source);
const Tensor& scatter_(const Tensor& x, std::int64_t dim, const Tensor& index,
                       const Tensor& source);
Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index,
               double value);
const Tensor& scatter_(const Tensor& x, std::int64_t dim, const Tensor& index,
                       double value);
// The same with += (scatter_add() is in index_ops.h).
const Tensor& scatter_add_(const Tensor& x, std::int64_t dim,
                           const Tensor& index, const Tensor& source);

// The same with a reduction of the named element, unless `include_self` is
// false, and all its sources. Means of integers are rounded down. Equal
// extremes share the gradient.
enum class ScatterReduce { kSum, kProd, kMean, kMax, kMin };
Tensor scatter_reduce(const Tensor& x, std::int64_t dim, const Tensor& index,
                      const Tensor& source, ScatterReduce reduce,
                      bool include_self = true);
const Tensor& scatter_reduce_(const Tensor& x, std::int64_t dim,
                              const Tensor& index, const Tensor& source,
                              ScatterReduce reduce, bool include_self = true);

// Slice index[i] of a dimension += alpha times slice i of `source`, = that
// slice, or = value. index [n]; `source` has the shape of x with size n.
Tensor index_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                 const Tensor& source, double alpha = 1.0);
const Tensor& index_add_(const Tensor& x, std::int64_t dim, const Tensor& index,
                         const Tensor& source, double alpha = 1.0);
Tensor index_copy(const Tensor& x, std::int64_t dim, const Tensor& index,
                  const Tensor& source);
const Tensor& index_copy_(const Tensor& x, std::int64_t dim,
                          const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& x, std::int64_t dim, const Tensor& index,
                  double value);
const Tensor& index_fill_(const Tensor& x, std::int64_t dim,
                          const Tensor& index, double value);

// The elements of x, in row-major order, that `index` names; negative indices
// count from the end. put() writes `source`, of as many elements, there.
Tensor take(const Tensor& x, const Tensor& index);
Tensor put(const Tensor& x, const Tensor& index, const Tensor& source,
           bool accumulate = false);
const Tensor& put_(const Tensor& x, const Tensor& index, const Tensor& source,
                   bool accumulate = false);
// gather() with x and index broadcast along the other dimensions. Negative
// indices count from the end.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::int64_t dim);

}  // namespace hvd
