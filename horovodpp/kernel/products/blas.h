// SPDX-License-Identifier: Apache-2.0
// Matrix products by the BLAS that the library is linked with. oneDNN computes
// products that no BLAS has or that oneDNN computes faster. Only blas.cc
// includes cblas.h.
//
// Thread-safe if the BLAS is, as all common ones are.
#pragma once

#include <cstdint>
#include <functional>

#include "horovodpp/core/half.h"

namespace hvd::autograd::blas {

// A matrix as BLAS sees it: rows (or, if transposed, columns) `stride` elements
// apart.
template <typename T>
struct Matrix {
  T* data;
  std::int64_t stride;
  bool transposed = false;
};

struct GemmSize {
  std::int64_t m, n, k;
};

// c = a b, with a [m,k], b [k,n] and c [m,n], row by row.
//   InvalidArgument  a size is beyond the BLAS's integers (2^31)
void gemm(const GemmSize& size, Matrix<const float> a, Matrix<const float> b,
          Matrix<float> c);
void gemm(const GemmSize& size, Matrix<const double> a, Matrix<const double> b,
          Matrix<double> c);

// The same in bfloat16 by oneDNN, summing in float32 and rounding once. Returns
// false, with no effect, without oneDNN or if converting would be faster.
bool gemm(const GemmSize& size, Matrix<const bf16> a, Matrix<const bf16> b,
          Matrix<bf16> c);

// c += a b.
void gemm_add(const GemmSize& size, Matrix<const float> a,
              Matrix<const float> b, Matrix<float> c);
void gemm_add(const GemmSize& size, Matrix<const double> a,
              Matrix<const double> b, Matrix<double> c);

// Multiplies by a fixed matrix: c = a b, or c += a b.
template <typename T>
using Multiply = std::function<void(const T* a, T* c)>;
struct Factors {
  GemmSize size;
  std::int64_t a_stride;  // Of the rows of a,
  std::int64_t c_stride;  // and of c.
  std::int64_t times;     // Expected number of calls.
  bool adds = false;
};

// Prepares products by `b`, which may be copied once into a faster layout. `b`
// is borrowed for as long as the result lives.
Multiply<float> multiply_by(const Factors& factors, Matrix<const float> b);
Multiply<double> multiply_by(const Factors& factors, Matrix<const double> b);

// Whether products of float32 matrices of some size use OpenMP's threads: one
// within a loop of parallel.h. The BLAS has threads of its own.
bool float_products_share_openmp();

// The same by oneDNN. Returns false or null, with no effect, without oneDNN or
// if the BLAS would be faster.
bool gemm_with_dnnl(const GemmSize& size, Matrix<const float> a,
                    Matrix<const float> b, Matrix<float> c, bool adds);
Multiply<float> multiply_with_dnnl(const Factors& factors,
                                   Matrix<const float> b);

}  // namespace hvd::autograd::blas
