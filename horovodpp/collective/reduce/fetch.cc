// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/fetch.h"

namespace hvd::collective {

// Without this target compilers emit a prefetch for reading. x86-64 processors
// that lack the instruction ignore it.
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
