// SPDX-License-Identifier: Apache-2.0
// Random choices from the thread's default generator, so that a recomputation
// repeats them. Not differentiable.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// For each row of `weights` [n] or [rows, n], the indices of `samples`
// categories, drawn in proportion to their weights: int64 [samples] or
// [rows, samples]. Without `replacement` no index repeats.
//   InvalidArgument  a weight is negative or not finite, or too few are positive
Tensor multinomial(const Tensor& weights, std::int64_t samples,
                   bool replacement = false);

// 1 with the probability that each element states, else 0, in the same dtype.
// The gradient is 0.
//   InvalidArgument  an element is outside [0, 1]
Tensor bernoulli(const Tensor& probabilities);

}  // namespace hvd
