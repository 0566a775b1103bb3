// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Adasum (Maleki et al., "Scaling Distributed Training with
// Adaptive Summation", MLSys 2021), which combines two vectors: orthogonal ones
// to their sum, parallel ones to their average.
//
//   (1 - a.b / 2|a|^2) a  +  (1 - a.b / 2|b|^2) b
//
// A zero vector has the factor 1, so zeros have no effect. An infinity or a NaN
// in either vector makes all of the result NaN.
//
// Vectors are of f32 or f64; their products and sums are computed in double.
// Equal arguments give equal bits. Stateless, thread-safe.
#pragma once

#include <cstdint>

#include "horovodpp/core/dtype.h"

namespace hvd::collective {

// The dot products of two vectors. Their units keep the squares of very large
// and very small numbers within a double: of a.a, 2^(2 * a_exponent), of a.b,
// 2^(a_exponent + b_exponent). Sent between ranks.
struct PairProducts {
  static constexpr std::int32_t kLowestExponent = -1000;

  double ab = 0;
  double aa = 0;
  double bb = 0;
  std::int32_t a_exponent = kLowestExponent;
  std::int32_t b_exponent = kLowestExponent;
};

// The products of `count` elements of `dtype`; zero is legal.
PairProducts products_of(DType dtype, const void* a, const void* b,
                         std::int64_t count);

// The products of vectors in two parts. The same bits in either order.
PairProducts sum_of(const PairProducts& left, const PairProducts& right);

// Writes the combination of `a` and `b` to `result`, which may be `a` or `b`,
// `count` elements; `products` are those of the whole vectors.
void merge_pair(DType dtype, const void* a, const void* b, void* result,
                std::int64_t count, const PairProducts& products);

}  // namespace hvd::collective
