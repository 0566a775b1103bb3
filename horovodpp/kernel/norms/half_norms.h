// SPDX-License-Identifier: Apache-2.0
// normalize_rows() and its gradients for rows of 16-bit types: a few rows at a
// time become float32, and stay in the cache.
//
// Results do not depend on the number of threads.
#pragma once

#include "horovodpp/kernel/halves.h"
#include "horovodpp/kernel/norms/norm_loops.h"

namespace hvd::autograd {

void normalize_rows(const MatrixSize& size, const RowNorm<f16, float>& s);
void normalize_rows(const MatrixSize& size, const RowNorm<bf16, float>& s);
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<f16, float>& s);
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<bf16, float>& s);

}  // namespace hvd::autograd
