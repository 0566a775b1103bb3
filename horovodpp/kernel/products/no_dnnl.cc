// SPDX-License-Identifier: Apache-2.0
// Replaces the oneDNN implementations in builds without oneDNN.
#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/kernel/products/convolution.h"

namespace hvd::autograd {

bool convolve_with_dnnl(ConvPass, const ConvShape&, DType, const ConvBuffers&) {
  return false;
}

bool blas::gemm(const GemmSize&, Matrix<const bf16>, Matrix<const bf16>,
                Matrix<bf16>) {
  return false;
}

bool blas::float_products_share_openmp() { return false; }

bool blas::gemm_with_dnnl(const GemmSize&, Matrix<const float>,
                          Matrix<const float>, Matrix<float>, bool) {
  return false;
}

blas::Multiply<float> blas::multiply_with_dnnl(const Factors&,
                                               Matrix<const float>) {
  return nullptr;
}

}  // namespace hvd::autograd
