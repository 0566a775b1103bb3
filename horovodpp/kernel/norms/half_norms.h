// SPDX-License-Identifier: Apache-2.0
// normalize_rows() and its gradients for rows of 16-bit types: a few rows at a
// time become float32, and stay in the cache. H is f16 or bf16.
//
// Results do not depend on the number of threads.
#pragma once

#include "horovodpp/kernel/halves.h"
#include "horovodpp/kernel/norms/norm_loops.h"

namespace hvd::autograd {

template <typename H>
struct HalfRowNorm {
  const H* x;
  const float* weight;
  const float* bias;
  double eps;
  H* y;
  float* mean;
  float* rstd;
};
void normalize_half_rows(const MatrixSize& size, const HalfRowNorm<f16>& s);
void normalize_half_rows(const MatrixSize& size, const HalfRowNorm<bf16>& s);

template <typename H>
struct HalfRowNormGradient {
  const H* x;
  const H* g;
  const float* weight;
  const float* mean;
  const float* rstd;
  H* x_gradient;
  double* weight_gradient;
  double* bias_gradient;
};
void normalize_half_rows_backward(const MatrixSize& size,
                                  const HalfRowNormGradient<f16>& s);
void normalize_half_rows_backward(const MatrixSize& size,
                                  const HalfRowNormGradient<bf16>& s);

}  // namespace hvd::autograd
