// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// e^x / sum e^x, along a dimension.
Tensor softmax(const Tensor& x, std::int64_t dim);
// x - ln sum e^x
Tensor log_softmax(const Tensor& x, std::int64_t dim = -1);

}  // namespace hvd
