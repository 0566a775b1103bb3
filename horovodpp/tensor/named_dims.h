// SPDX-License-Identifier: Apache-2.0
// The dimensions that a call names, in any order, negative ones from the end.
#pragma once

#include <array>
#include <cstddef>

#include "horovodpp/tensor/dims.h"

namespace hvd::autograd {

// For each of the `rank` dimensions of a tensor whether `dims` has it. A scalar
// is taken as [1].
//   InvalidArgument  one is out of range, or named twice; names `operation`
std::array<bool, Dims::kMax> named_dims(const Dims& dims, std::size_t rank,
                                        const char* operation);

}  // namespace hvd::autograd
