// SPDX-License-Identifier: Apache-2.0
// The checksum of a tensor, by which ranks compare theirs.
#pragma once

#include <cstdint>

#include "horovodpp/core/memory/checksum.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

using hvd::checksum;
using hvd::combined;

// Covers elements, dtype and shape.
std::uint64_t checksum(const Tensor& tensor);

}  // namespace hvd::optim
