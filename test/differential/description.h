// SPDX-License-Identifier: Apache-2.0
// Describes a tensor as JSON.
#pragma once

#include "horovodpp/tensor/tensor.h"
#include "nlohmann/json.hpp"

namespace hvd::differential {

// Returns [dtype, sizes, requires_grad, is_leaf, version, values, gradient].
// The values are the bytes of the elements, row by row, in hexadecimal. The
// gradient is such a list itself, or null. Returns null for an undefined
// tensor, ["unusable"] for a tensor whose inspection fails.
nlohmann::json describe(const Tensor& tensor);

}  // namespace hvd::differential
