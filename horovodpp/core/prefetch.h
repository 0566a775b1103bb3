// SPDX-License-Identifier: Apache-2.0
// Prefetches all cache lines of `object` at once, for callers that will visit
// objects in turn.
#pragma once

#include <cstddef>

namespace hvd {

template <typename T>
void prefetch_all(const T* object) {
  constexpr std::size_t kLine = 64;
  const char* const first = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T); at += kLine) {
    __builtin_prefetch(first + at);
  }
}

}  // namespace hvd
