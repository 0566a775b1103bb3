// SPDX-License-Identifier: Apache-2.0
// Pool for the memory of large results, which is reused after they are freed.
// Fresh memory costs a page fault per page, more than a collective within a
// node.
//
// The pool keeps at most kMaxKept bytes, in the sizes requested last.
// Thread-safe, and usable until the process ends.
#pragma once

#include <cstddef>
#include <memory>

namespace hvd {

inline constexpr std::size_t kMinPooled = std::size_t{64} << 10;
inline constexpr std::size_t kMaxKept = std::size_t{512} << 20;

// Whether memory is reused: not under AddressSanitizer.
bool pools_memory();

// Memory of at least `bytes` bytes, aligned to a cache line, in huge pages if
// it spans several; nullptr if out of memory.
std::shared_ptr<std::byte> pooled_memory(std::size_t bytes);

}  // namespace hvd
