// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/fetch.h"

#include <cstdint>

namespace hvd::collective {

// Compilers make a load's prefetch of it unless they may assume the instruction, which
// processors of x86-64 that lack it take for none.
#if defined(__x86_64__)
__attribute__((target("prfchw")))
#endif
void fetch_to_write(const std::byte* memory, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  // Numbers: `memory` may be of nothing.
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (std::uintptr_t at = begin; at < begin + bytes; at += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
  }
}

}  // namespace hvd::collective
