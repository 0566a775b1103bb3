// SPDX-License-Identifier: Apache-2.0
// Matrix products, of floating point or integers of one dtype.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// [..., m, k] [..., k, n] -> [..., m, n], whose other dimensions ~. A vector
// [k] counts as [1, k] on the left and [k, 1] on the right; the result drops
// the 1.
Tensor matmul(const Tensor& a, const Tensor& b);
// [n, m, k] [n, k, p] -> [n, m, p]
Tensor bmm(const Tensor& a, const Tensor& b);
struct AddmmOptions {
  double beta = 1.0;
  double alpha = 1.0;
};
// beta x + alpha a b:  x ~ [m, n], a [m, k], b [k, n] -> [m, n]. Integers want
// whole factors.
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b,
             const AddmmOptions& options = {});
// x W^T + b:  x [..., in], weight [out, in], bias [out] or undefined -> [...,
// out]. With a weight [in], the result is [...], and the bias is [] for an x
// [in].
Tensor linear(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor());

namespace autograd {

// x times a factor of such a sum, in x's dtype.
//   InvalidArgument  x is of integers, and the factor is not whole
Tensor times_factor(const Tensor& x, double factor, const char* operation);

}  // namespace autograd
}  // namespace hvd
