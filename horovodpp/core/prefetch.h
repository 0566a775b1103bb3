// SPDX-License-Identifier: Apache-2.0
// Asks for the lines of `object` to be brought into the cache, all at once, for who
// will look at one after the other.
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
