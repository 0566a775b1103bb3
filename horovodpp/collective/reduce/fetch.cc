// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/fetch.h"

namespace hvd::collective {

// Compilers make a load's prefetch of it unless they may assume the instruction, which
// processors of x86-64 that lack it take for none.
#if defined(__x86_64__)
__attribute__((target("prfchw")))
#endif
void fetch_to_write(const std::byte* memory, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < bytes; at += kLine) {
    __builtin_prefetch(memory + at, 1);
  }
}

}  // namespace hvd::collective
