// SPDX-License-Identifier: Apache-2.0
// Asks for memory to be brought into the cache, for who walks over many small
// objects that lie anywhere: the next ones come while this one is worked on.
#pragma once

#include <cstddef>

namespace hvd {

// The line at `address`, which need not be anybody's.
inline void prefetch(const void* address) { __builtin_prefetch(address); }

// The lines of `object`.
template <typename T>
void prefetch_all(const T* object) {
  constexpr std::size_t kLine = 64;
  const char* const first = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T); at += kLine) prefetch(first + at);
}

}  // namespace hvd
