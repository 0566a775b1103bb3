// SPDX-License-Identifier: Apache-2.0
// What can be seen of a tensor, as JSON.
#pragma once

#include "horovodpp/tensor/tensor.h"
#include "nlohmann/json.hpp"

namespace hvd::differential {

// [dtype, sizes, requires_grad, is_leaf, version, values, gradient]: values are
// the bytes of the elements, row by row, in hexadecimal; the gradient is such a
// list itself, or null. Null of an undefined tensor, ["unusable"] of one that
// refuses to be looked at.
nlohmann::json describe(const Tensor& tensor);

}  // namespace hvd::differential
