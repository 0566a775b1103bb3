// SPDX-License-Identifier: Apache-2.0
// Operations that move elements to other places.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// x shifted along dimensions, the elements that leave at one end entering at
// the other: y[i + shift] = x[i].
//   InvalidArgument  there are not as many shifts as dims
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts,
            const autograd::Dims& dims);

// x with `value` around it: widths are {left, right} of the last dimension,
// then of the one before, and so on; negative ones cut off.
//   InvalidArgument  more is cut off than there is, or there are too many widths
//                    or an odd number of them
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& widths,
           double value = 0.0);

// x in reverse order along dimensions.
Tensor flip(const Tensor& x, const autograd::Dims& dims);

}  // namespace hvd
