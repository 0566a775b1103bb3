// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Adasum (Maleki et al., "Scaling Distributed Training with
// Adaptive Summation", MLSys 2021), which makes one vector of two: where they
// are orthogonal their sum, where they are parallel their average,
//
//   (1 - a.b / 2|a|^2) a  +  (1 - a.b / 2|b|^2) b
//
// A vector without length counts with the factor 1, so zeros change nothing.
// An infinity or a NaN in either vector makes all of the result NaN.
//
// Vectors are of f32 or f64; products and sums of them are made in double. Equal
// arguments give equal bits. Stateless, thread-safe.
#pragma once

#include <cstdint>

#include "horovodpp/core/dtype.h"

namespace hvd::collective {

// The dot products of two vectors, in units that keep the squares of very large
// and very small numbers within a double: of a.a, 2^(2 * a_exponent), of a.b,
// 2^(a_exponent + b_exponent). Travels between ranks.
struct PairProducts {
  static constexpr std::int32_t kLowestExponent = -1000;

  double ab = 0;
  double aa = 0;
  double bb = 0;
  std::int32_t a_exponent = kLowestExponent;
  std::int32_t b_exponent = kLowestExponent;
};

// Of `count` elements of `dtype`; zero is legal.
PairProducts products_of(DType dtype, const void* a, const void* b,
                         std::int64_t count);

// Of vectors that lie in two parts. Gives the same bits in either order.
PairProducts sum_of(const PairProducts& left, const PairProducts& right);

// Writes to `result`, which may be `a` or `b`, `count` elements of what the two
// become; `products` are those of the whole vectors.
void merge_pair(DType dtype, const void* a, const void* b, void* result,
                std::int64_t count, const PairProducts& products);

}  // namespace hvd::collective
