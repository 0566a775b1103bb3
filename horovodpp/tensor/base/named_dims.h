// SPDX-License-Identifier: Apache-2.0
// Checks the list of dimensions of a call: any order, negative ones from the
// end.
#pragma once

#include <array>
#include <cstddef>

#include "horovodpp/tensor/base/dims.h"

namespace hvd::autograd {

// For each of the `rank` dimensions, whether `dims` contains it. A scalar
// counts as [1].
//   InvalidArgument  one is out of range, or repeated; names `operation`
std::array<bool, Dims::kMax> named_dims(const Dims& dims, std::size_t rank,
                                        const char* operation);

}  // namespace hvd::autograd
