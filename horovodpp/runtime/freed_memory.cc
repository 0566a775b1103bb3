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
// The limit of older versions of glibc.
constexpr int kOldKeptBlock = 32 << 20;

// Fills this thread's cache of small blocks. posix_memalign() splits a few
// bytes off each block. A cache with room would keep these bytes, and a freed
// block could not merge with its neighbor. The next request of that size would
// not fit, and would grow the heap.
void fill_cache_of_thread() {
  constexpr std::size_t kStep = 16;
  // Sizes above the smallest block's 24 bytes.
  constexpr std::size_t kSizes = 7;
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
