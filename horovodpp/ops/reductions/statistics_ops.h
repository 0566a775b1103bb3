// SPDX-License-Identifier: Apache-2.0
// Reductions over dimensions, beside sum(), mean(), max() and min(). `dims` are
// the reduced dimensions, and {} is all of them; they are dropped or, with
// `keepdim`, become 1. Sums are of float32 at least.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Of floating-point tensors.

struct VarOptions {
  // The sum of squares is divided by n - correction: 1 for a sample, 0 for all
  // there is. As PyTorch, without elements left it is NaN.
  double correction = 1;
  bool keepdim = false;
};
Tensor var(const Tensor& x, const autograd::Dims& dims = {},
           const VarOptions& options = {});
// sqrt(var). Its derivative at 0 is 0.
Tensor std(const Tensor& x, const autograd::Dims& dims = {},
           const VarOptions& options = {});

// (sum |x|^order)^(1 / order). Order infinity is the largest |x|, -infinity the
// smallest, 0 the number of elements that are not 0. The derivative of a norm
// of 0 is 0. (torch.linalg.vector_norm)
Tensor vector_norm(const Tensor& x, double order = 2,
                   const autograd::Dims& dims = {}, bool keepdim = false);
// ln sum e^x, without overflow.
Tensor logsumexp(const Tensor& x, const autograd::Dims& dims,
                 bool keepdim = false);
// Without NaNs.
Tensor nansum(const Tensor& x, const autograd::Dims& dims = {},
              bool keepdim = false);
Tensor nanmean(const Tensor& x, const autograd::Dims& dims = {},
               bool keepdim = false);

// Of any dtype. Products of integers are int64.
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, std::int64_t dim, bool keepdim = false);

// Whether an element, or each, is not 0: bool, or uint8 for uint8, as PyTorch.
// NaN is not 0.
Tensor any(const Tensor& x, const autograd::Dims& dims = {},
           bool keepdim = false);
Tensor all(const Tensor& x, const autograd::Dims& dims = {},
           bool keepdim = false);
// The number of elements that are not 0: int64.
Tensor count_nonzero(const Tensor& x, const autograd::Dims& dims = {});

}  // namespace hvd
