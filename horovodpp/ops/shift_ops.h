// SPDX-License-Identifier: Apache-2.0
// Operations that move elements: roll, pad and flip.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// x rotated along dimensions: y[i + shift] = x[i], with indices modulo the
// size.
//   InvalidArgument  the numbers of shifts and dims differ
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts,
            const autograd::Dims& dims);

// x with `value` around it: widths are {left, right} of the last dimension,
// then of the one before, and so on. Negative widths crop.
//   InvalidArgument  a crop exceeds its dimension, or the number of widths is
//                    odd or too large
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& widths,
           double value = 0.0);

// x in reverse order along dimensions.
Tensor flip(const Tensor& x, const autograd::Dims& dims);

}  // namespace hvd
