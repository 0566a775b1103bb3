// SPDX-License-Identifier: Apache-2.0
// Interpolation, and products and quotients that are added. Tensors broadcast
// ("~").
//
//   hvd::lerp_(average, weights, 0.1);                 // a moving average
//   hvd::addcdiv_(parameter, momentum, root, -0.01);   // a step of Adam
//
//   InvalidArgument  a dtype that the operation does not support
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// start + weight (end - start), exact for weights of 0 and 1. Floating point of
// one dtype; a scalar weight may have another.
Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight);
Tensor lerp(const Tensor& start, const Tensor& end, double weight);

// x + value a b. Operands are promoted; integers want a whole value.
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b,
               double value = 1);
// x + value a / b. Not of integers alone: convert one with to().
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b,
               double value = 1);

// In place: the first operand becomes the result, and is returned.
//   InvalidArgument  the result cannot be cast to its dtype (can_cast())
const Tensor& lerp_(const Tensor& start, const Tensor& end,
                    const Tensor& weight);
const Tensor& lerp_(const Tensor& start, const Tensor& end, double weight);
const Tensor& addcmul_(const Tensor& x, const Tensor& a, const Tensor& b,
                       double value = 1);
const Tensor& addcdiv_(const Tensor& x, const Tensor& a, const Tensor& b,
                       double value = 1);

}  // namespace hvd
