// SPDX-License-Identifier: Apache-2.0
// A number that tells tensors apart which differ in a bit, with all but certainty;
// not where somebody wants it to be the same. The same on all machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

// As fast as memory is read.
std::uint64_t checksum(const void* bytes, std::size_t count);

// Of elements, dtype and shape.
std::uint64_t checksum(const Tensor& tensor);

// The order matters.
std::uint64_t combined(std::uint64_t a, std::uint64_t b);

}  // namespace hvd::optim
