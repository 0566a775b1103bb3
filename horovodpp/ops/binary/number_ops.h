// SPDX-License-Identifier: Apache-2.0
// Operations of two tensors, or the choice between two, with a number instead of
// one, as PyTorch has them. Dtypes are promoted, numbers last.
//
//   hvd::Tensor y = hvd::remainder(1.0, x);
//   hvd::Tensor sign = hvd::where(x > 0, 1.0, -1.0);
//
//   InvalidArgument  a dtype that the operation does not support
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/binary/pair_ops.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor remainder(Scalar a, const Tensor& b);
Tensor div(const Tensor& a, Scalar b, Rounding rounding);
Tensor copysign(const Tensor& a, Scalar b);
Tensor xlogy(Scalar a, const Tensor& b);
Tensor xlogy(const Tensor& a, Scalar b);
Tensor xlog1py(Scalar a, const Tensor& b);
Tensor xlog1py(const Tensor& a, Scalar b);

Tensor bitwise_and(Scalar a, const Tensor& b);
Tensor bitwise_or(Scalar a, const Tensor& b);
Tensor bitwise_xor(Scalar a, const Tensor& b);
Tensor bitwise_left_shift(Scalar a, const Tensor& b);
Tensor bitwise_right_shift(Scalar a, const Tensor& b);

// a where the bool `condition` is true, else b. Two numbers make a tensor of
// float32, or int64 if both are whole.
Tensor where(const Tensor& condition, Scalar a, const Tensor& b);
Tensor where(const Tensor& condition, Scalar a, Scalar b);

}  // namespace hvd
