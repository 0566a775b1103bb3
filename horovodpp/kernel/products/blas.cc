// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/products/blas.h"

#include <cblas.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/intra_op.h"

namespace hvd::autograd::blas {
namespace {

void check_size(const GemmSize& size, std::initializer_list<std::int64_t> all) {
  if (std::max(all) > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidArgument(absl::StrCat(
        "a product of [", size.m, ",", size.k, "] and [", size.k, ",", size.n,
        "] exceeds the integers of the BLAS; split it"));
  }
}

CBLAS_TRANSPOSE transpose(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

int narrow(std::int64_t value) { return static_cast<int>(value); }

// c = a b + kept c; `function` is cblas_?gemm for T.
template <typename T, typename Function>
void call(Function function, const GemmSize& size, Matrix<const T> a,
          Matrix<const T> b, Matrix<T> c, T kept) {
  apply_threads_to_blas();
  function(CblasRowMajor, transpose(a.transposed), transpose(b.transposed),
           narrow(size.m), narrow(size.n), narrow(size.k), T(1), a.data,
           narrow(a.stride), b.data, narrow(b.stride), kept, c.data,
           narrow(c.stride));
}

template <typename T>
void multiply(const GemmSize& size, Matrix<const T> a, Matrix<const T> b,
              Matrix<T> c, bool adds) {
  check_size(size, {size.m, size.n, size.k, a.stride, b.stride, c.stride});
  const T kept = adds ? T(1) : T(0);
  if constexpr (std::is_same_v<T, float>) {
    if (gemm_with_dnnl(size, a, b, c, adds)) return;
    call(cblas_sgemm, size, a, b, c, kept);
  } else {
    call(cblas_dgemm, size, a, b, c, kept);
  }
}

template <typename T>
Multiply<T> by_calls(const Factors& factors, Matrix<const T> b) {
  return [factors, b](const T* a, T* c) {
    multiply(factors.size, Matrix<const T>{a, factors.a_stride}, b,
             Matrix<T>{c, factors.c_stride}, factors.adds);
  };
}

}  // namespace

void gemm(const GemmSize& size, Matrix<const float> a, Matrix<const float> b,
          Matrix<float> c) {
  multiply(size, a, b, c, false);
}

void gemm(const GemmSize& size, Matrix<const double> a, Matrix<const double> b,
          Matrix<double> c) {
  multiply(size, a, b, c, false);
}

void gemm_add(const GemmSize& size, Matrix<const float> a,
              Matrix<const float> b, Matrix<float> c) {
  multiply(size, a, b, c, true);
}

void gemm_add(const GemmSize& size, Matrix<const double> a,
              Matrix<const double> b, Matrix<double> c) {
  multiply(size, a, b, c, true);
}

Multiply<float> multiply_by(const Factors& factors, Matrix<const float> b) {
  if (auto multiply = multiply_with_dnnl(factors, b)) return multiply;
  return by_calls(factors, b);
}

Multiply<double> multiply_by(const Factors& factors, Matrix<const double> b) {
  return by_calls(factors, b);
}

}  // namespace hvd::autograd::blas
