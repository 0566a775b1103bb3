// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/freed_memory.h"

#include <malloc.h>

#include <array>
#include <cstddef>
#include <cstdlib>

#include "horovodpp/runtime/settings/config.h"

namespace hvd {
namespace {

constexpr int kKeptBlock = 128 << 20;
constexpr int kKeptBytes = 256 << 20;
// Older versions of glibc refuse more.
constexpr int kOldKeptBlock = 32 << 20;

// posix_memalign() splits some bytes off each block. In the thread's cache they would
// keep a freed block from merging with its neighbour, so that the next request of its
// size would not fit, and grow the heap. A full cache takes none.
void fill_cache_of_thread() {
  constexpr std::size_t kStep = 16;
  constexpr std::size_t kSizes = 7;  // Above the 24 bytes of the smallest.
  constexpr std::size_t kOfEach = 7;
  std::array<void* volatile, kSizes * kOfEach> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = std::malloc(kStep + kStep / 2 + i / kOfEach * kStep);
  }
  for (void* const block : blocks) std::free(block);
}

}  // namespace

bool keep_freed_memory() {
  static const bool keeps = [] {
    const StatusOr<Config> config = Config::from_env();
    if (config.ok() && config->malloc_is_tuned) return false;
    fill_cache_of_thread();
    return (::mallopt(M_MMAP_THRESHOLD, kKeptBlock) == 1 ||
            ::mallopt(M_MMAP_THRESHOLD, kOldKeptBlock) == 1) &&
           ::mallopt(M_TRIM_THRESHOLD, kKeptBytes) == 1;
  }();
  return keeps;
}

}  // namespace hvd
