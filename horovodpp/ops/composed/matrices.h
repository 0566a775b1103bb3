// SPDX-License-Identifier: Apache-2.0
// Products of matrices and vectors, composed of other operations, with
// PyTorch's names.
//
//   hvd::Tensor h = hvd::addmv(bias, weight, x);
//
// InvalidArgument, with the shapes, if shapes do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Sums over the last dimensions, or a product with a scalar:
// [..., k] [---, k] -> [..., ---]
Tensor inner(const Tensor& a, const Tensor& b);
// Each element of `a` times all of `b`, in blocks. At most 4 dimensions.
Tensor kron(const Tensor& a, const Tensor& b);
// The sum of a matrix's diagonal.
Tensor matrix_trace(const Tensor& x);

// beta x + alpha m v:  x ~ [n], m [n, k], v [k] -> [n]
Tensor addmv(const Tensor& x, const Tensor& m, const Tensor& v,
             const AddmmOptions& options = {});
// beta x + alpha a b^T:  x ~ [n, m], a [n], b [m] -> [n, m]
Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b,
            const AddmmOptions& options = {});
// beta x + alpha sum of a[i] b[i]:  x ~ [n, m], a [s, n, k], b [s, k, m]
Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b,
              const AddmmOptions& options = {});

}  // namespace hvd
