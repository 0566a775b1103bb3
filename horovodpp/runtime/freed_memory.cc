// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/freed_memory.h"

#include <malloc.h>

#include "horovodpp/runtime/settings/config.h"

namespace hvd {
namespace {

constexpr int kKeptBytes = 256 << 20;
// Older versions of glibc refuse more.
constexpr int kOldKeptBlock = 32 << 20;

}  // namespace

bool keep_freed_memory() {
  static const bool keeps = [] {
    const StatusOr<Config> config = Config::from_env();
    if (config.ok() && config->malloc_is_tuned) return false;
    return (::mallopt(M_MMAP_THRESHOLD, kKeptBytes) == 1 ||
            ::mallopt(M_MMAP_THRESHOLD, kOldKeptBlock) == 1) &&
           ::mallopt(M_TRIM_THRESHOLD, kKeptBytes) == 1;
  }();
  return keeps;
}

}  // namespace hvd
