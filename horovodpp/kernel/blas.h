// SPDX-License-Identifier: Apache-2.0
// The matrix products of whatever BLAS the library is linked with, and of oneDNN
// for what no BLAS has or what oneDNN is faster at. The only file that knows of cblas.h is blas.cc.
//
// Thread-safe if the BLAS is, as all common ones are.
#pragma once

#include <cstdint>
#include <functional>

#include "horovodpp/core/half.h"

namespace hvd::autograd::blas {

// A matrix as BLAS sees it: rows `stride` elements apart, or, transposed,
// columns.
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
//   InvalidArgument  a size is beyond what the BLAS counts with (2^31)
void gemm(const GemmSize& size, Matrix<const float> a, Matrix<const float> b,
          Matrix<float> c);
void gemm(const GemmSize& size, Matrix<const double> a, Matrix<const double> b,
          Matrix<double> c);

// The same in bfloat16, adding up in float32 and rounding once, by oneDNN. False,
// and nothing is done, if there is none or it would be slower than converting.
bool gemm(const GemmSize& size, Matrix<const bf16> a, Matrix<const bf16> b,
          Matrix<bf16> c);

// c += a b.
void gemm_add(const GemmSize& size, Matrix<const float> a,
              Matrix<const float> b, Matrix<float> c);
void gemm_add(const GemmSize& size, Matrix<const double> a,
              Matrix<const double> b, Matrix<double> c);

// Multiplies by one matrix many that lie alike: c = a b, or c += a b. A call of it
// gives a and c.
template <typename T>
using Multiply = std::function<void(const T* a, T* c)>;
struct Factors {
  GemmSize size;
  std::int64_t a_stride;  // Of the rows of a,
  std::int64_t c_stride;  // and of c.
  std::int64_t times;     // About how often it will be called.
  bool adds = false;
};

// `b` may be copied once, into an order in which it is read faster, and is
// borrowed for as long as the result lives.
Multiply<float> multiply_by(const Factors& factors, Matrix<const float> b);
Multiply<double> multiply_by(const Factors& factors, Matrix<const double> b);

// The same by oneDNN. Nothing is done, and false or null returned, if there is
// none or the BLAS would be faster.
bool gemm_with_dnnl(const GemmSize& size, Matrix<const float> a,
                    Matrix<const float> b, Matrix<float> c, bool adds);
Multiply<float> multiply_with_dnnl(const Factors& factors,
                                   Matrix<const float> b);

}  // namespace hvd::autograd::blas
