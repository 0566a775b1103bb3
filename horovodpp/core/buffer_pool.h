// SPDX-License-Identifier: Apache-2.0
// Where the memory of large results comes from, and goes when they are gone: fresh
// memory costs a page fault for every page, which is more than a collective within
// a node costs, so it serves again.
//
// As much is kept as kMostKept, in sizes that were asked for last. Thread-safe, and
// usable until the process ends.
#pragma once

#include <cstddef>
#include <memory>

namespace hvd {

inline constexpr std::size_t kLeastPooled = std::size_t{64} << 10;
inline constexpr std::size_t kMostKept = std::size_t{512} << 20;

// Whether any serves again: not under AddressSanitizer.
bool pools_memory();

// Memory of at least `bytes` bytes, aligned to a cache line, huge pages where it has
// several; nullptr where there is none.
std::shared_ptr<std::byte> pooled_memory(std::size_t bytes);

}  // namespace hvd
