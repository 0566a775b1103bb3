// SPDX-License-Identifier: Apache-2.0
// A checksum that almost certainly differs between bytes that differ in a bit.
// It gives no protection against forgery. The same on all machines.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hvd {

// Runs at the speed of memory.
std::uint64_t checksum(const void* bytes, std::size_t count);

// The order matters.
std::uint64_t combined(std::uint64_t a, std::uint64_t b);

}  // namespace hvd
