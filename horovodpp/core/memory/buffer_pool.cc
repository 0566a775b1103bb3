// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/buffer_pool.h"

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"

// A pool would hide errors from AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__)
#define HVD_POOLS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HVD_POOLS_MEMORY 0
#endif
#endif
#ifndef HVD_POOLS_MEMORY
#define HVD_POOLS_MEMORY 1
#endif

namespace hvd {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Four sizes for each power of two, so at most a fifth is wasted.
std::size_t size_of_block(std::size_t bytes) {
  if (bytes < kMinPooled) return rounded(bytes, kLine);
  return rounded(bytes, std::bit_floor(bytes) / 4);
}

std::byte* new_block(std::size_t size) {
  const bool is_huge = size >= 2 * kHugePage;
  const std::size_t unit = is_huge ? kHugePage : kLine;
  void* const memory = std::aligned_alloc(unit, rounded(size, unit));
  if (memory != nullptr && is_huge) {
    ::madvise(memory, rounded(size, unit), MADV_HUGEPAGE);  // Optional.
  }
  return static_cast<std::byte*>(memory);
}

class Pool {
 public:
  // Never destroyed, so exit order cannot matter.
  static Pool& instance() {
    static Pool* const pool = new Pool;
    return *pool;
  }

  std::byte* take(std::size_t size) {
    // After a fork, the lock may be held by a thread that the child does not
    // have.
    if (mutex_.try_lock()) {
      std::byte* const kept = take_kept(size);
      mutex_.unlock();
      if (kept != nullptr) return kept;
    }
    return new_block(size);
  }

  void give_back(std::byte* block, std::size_t size) noexcept {
    if (HVD_POOLS_MEMORY == 0 || size < kMinPooled || size > kMaxKept ||
        !mutex_.try_lock()) {
      return std::free(block);
    }
    try {
      keep(block, size);
    } catch (...) {
      std::free(block);
    }
    mutex_.unlock();
  }

 private:
  struct Size {
    std::vector<std::byte*> blocks = {};
    std::uint64_t used = 0;  // Time of last use.
  };

  std::byte* take_kept(std::size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = sizes_.find(size);
    if (found == sizes_.end()) return nullptr;
    found->second.used = ++now_;
    if (found->second.blocks.empty()) return nullptr;
    std::byte* const block = found->second.blocks.back();
    found->second.blocks.pop_back();
    kept_ -= size;
    return block;
  }

  void keep(std::byte* block, std::size_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Size& mine = sizes_[size];
    mine.blocks.push_back(block);
    mine.used = ++now_;
    kept_ += size;
    while (kept_ > kMaxKept) drop_oldest();
  }

  void drop_oldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto oldest = sizes_.begin();
    for (auto it = sizes_.begin(); it != sizes_.end(); ++it) {
      if (it->second.used < oldest->second.used) oldest = it;
    }
    for (std::byte* const block : oldest->second.blocks) {
      std::free(block);
      kept_ -= oldest->first;
    }
    sizes_.erase(oldest);
  }

  Mutex mutex_;
  std::map<std::size_t, Size> sizes_ ABSL_GUARDED_BY(mutex_);
  std::size_t kept_ ABSL_GUARDED_BY(mutex_) = 0;  // Bytes.
  std::uint64_t now_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

bool pools_memory() { return HVD_POOLS_MEMORY != 0; }

std::shared_ptr<std::byte> pooled_memory(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;
  const std::size_t size = size_of_block(bytes);
  if (size < kMinPooled) {
    return {static_cast<std::byte*>(std::aligned_alloc(kLine, size)),
            std::free};
  }
  std::byte* const block = Pool::instance().take(size);
  if (block == nullptr) return nullptr;
  return {block, [size](std::byte* memory) {
            Pool::instance().give_back(memory, size);
          }};
}

}  // namespace hvd
