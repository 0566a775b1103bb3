// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/allocator.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/kernel/memory_reclaimer.h"
#include "horovodpp/kernel/page_heap.h"

namespace hvd::autograd {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallClasses = kMaxSmallBlock / kAlignment;
// Per thread: enough for a step of some 10,000 operations.
constexpr std::size_t kCachedSmallBytes = std::size_t{1} << 25;
constexpr std::size_t kCachedLargeBytes = std::size_t{1} << 29;

// Larger than any process can have. Larger requests always fail, and rounding
// them up could wrap.
constexpr std::size_t kAddressSpace = std::size_t{1} << 47;

// Blocks from this size on come from pages. Smaller ones are worth a quarter of
// waste: the block that was freed last is still in the processor's cache.
constexpr std::size_t kPagedBytes = std::size_t{1} << 20;

void* system_allocate(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t(kAlignment));
}

void system_deallocate(void* memory) noexcept {
  ::operator delete(memory, std::align_val_t(kAlignment));
}

// A free block, which holds the link to the next one.
struct FreeBlock {
  FreeBlock* next;
};

// Plain data, so the cache remains usable, switched off, while the destructors
// of a thread's other objects run.
struct SmallCache {
  std::array<FreeBlock*, kSmallClasses> classes;
  std::size_t bytes;
  bool closed;
  bool registered;
};
[[gnu::tls_model(
    "initial-exec")]] constinit thread_local SmallCache small_cache{};

void drain(SmallCache& cache) noexcept {
  for (FreeBlock*& head : cache.classes) {
    while (head != nullptr) {
      FreeBlock* block = head;
      head = block->next;
      system_deallocate(block);
    }
  }
  cache.bytes = 0;
}

struct SmallCacheCloser {
  ~SmallCacheCloser() {
    small_cache.closed = true;
    drain(small_cache);
  }
};

void register_closer() {
  thread_local SmallCacheCloser closer;
  static_cast<void>(closer);
  small_cache.registered = true;
}

std::size_t small_class(std::size_t bytes) {
  return bytes == 0 ? 0 : (bytes - 1) / kAlignment;
}

// Rounds up to four steps per power of two. At most a quarter is lost, and
// repeated shapes use the same free list.
std::size_t rounded_large(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

std::size_t large_class(std::size_t rounded) {
  const auto power = static_cast<std::size_t>(std::bit_width(rounded) - 1);
  return power * 4 + ((rounded >> (power - 2)) & 3);
}

class LargeCache {
 public:
  void* take(std::size_t bytes) {
    const std::size_t rounded = rounded_large(bytes);
    {
      MutexLock lock(mutex_);
      if (bytes >= kPagedBytes) return pages_.take(bytes);
      std::vector<void*>& blocks = classes_[large_class(rounded)];
      if (!blocks.empty()) {
        void* memory = blocks.back();
        blocks.pop_back();
        cached_bytes_ -= rounded;
        return memory;
      }
    }
    return system_allocate(rounded);
  }

  void put(void* memory, std::size_t bytes) noexcept {
    const std::size_t rounded = rounded_large(bytes);
    MutexLock lock(mutex_);
    if (bytes >= kPagedBytes) {
      pages_.give(memory, bytes);
    } else if (cached_bytes_ + rounded > kCachedLargeBytes ||
               !try_push(memory, rounded)) {
      system_deallocate(memory);
    }
  }

  // Held during a fork, so that no other thread is inside the cache then.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.unlock(); }

  void drain() {
    std::array<std::vector<void*>, kLargeClasses> old;
    {
      MutexLock lock(mutex_);
      old.swap(classes_);
      cached_bytes_ = 0;
      pages_.drain();
    }
    for (auto& blocks : old) {
      for (void* block : blocks) system_deallocate(block);
    }
  }

 private:
  bool try_push(void* memory, std::size_t rounded) noexcept
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    try {
      classes_[large_class(rounded)].push_back(memory);
    } catch (const std::bad_alloc&) {
      return false;
    }
    cached_bytes_ += rounded;
    return true;
  }

  static constexpr std::size_t kLargeClasses = 96;  // Below kPagedBytes.

  Mutex mutex_;
  std::array<std::vector<void*>, kLargeClasses> classes_
      ABSL_GUARDED_BY(mutex_);
  std::size_t cached_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  PageHeap pages_ ABSL_GUARDED_BY(mutex_){kCachedLargeBytes};
};

LargeCache& large_cache();

void lock_large_cache() ABSL_NO_THREAD_SAFETY_ANALYSIS { large_cache().lock(); }
void unlock_large_cache() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  large_cache().unlock();
}

// Never destroyed: tensors in static variables may outlive any static.
LargeCache& large_cache() {
  static auto* cache = [] {
    auto* made = new LargeCache;
    ::pthread_atfork(lock_large_cache, unlock_large_cache, unlock_large_cache);
    return made;
  }();
  return *cache;
}

// Created when the library is loaded. If one thread created it while another
// one forked, the child would wait for a thread that it does not have.
[[maybe_unused]] const LargeCache& made_at_load = large_cache();

class CpuAllocator : public Allocator {
 public:
  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    if (bytes > kMaxSmallBlock) {
      reclaim_for(*this, current_.load(std::memory_order_relaxed), bytes);
    }
    void* memory = nullptr;
    try {
      memory = take(bytes);
    } catch (const std::bad_alloc&) {
      throw Error(absl::ResourceExhaustedError(absl::StrCat(
          "out of memory: a tensor asked for ", bytes, " bytes while ",
          current_.load(std::memory_order_relaxed), " are in use")));
    }
    count(static_cast<std::int64_t>(bytes));
    return memory;
  }

  void deallocate(void* memory, std::size_t bytes) noexcept override {
    if (memory == nullptr) return;
    current_.fetch_sub(static_cast<std::int64_t>(bytes),
                       std::memory_order_relaxed);
    if (bytes <= kMaxSmallBlock) {
      deallocate_small(memory, bytes);
    } else {
      large_cache().put(memory, bytes);
    }
  }

  Device device() const override { return Device::cpu(); }

  MemoryStats stats() const override {
    return {current_.load(std::memory_order_relaxed),
            peak_.load(std::memory_order_relaxed)};
  }

  void reset_peak() override {
    peak_.store(current_.load(std::memory_order_relaxed),
                std::memory_order_relaxed);
  }

 private:
  static void* take(std::size_t bytes) {
    if (bytes <= kMaxSmallBlock) return allocate_small(bytes);
    if (bytes > kAddressSpace) throw std::bad_alloc();
    return large_cache().take(bytes);
  }

  void count(std::int64_t bytes) {
    const std::int64_t now =
        current_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak &&
           !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }

  std::atomic<std::int64_t> current_{0};
  std::atomic<std::int64_t> peak_{0};
};

}  // namespace

void* allocate_small(std::size_t bytes) {
  if (bytes > kMaxSmallBlock) return system_allocate(bytes);
  SmallCache& cache = small_cache;
  const std::size_t index = small_class(bytes);
  FreeBlock* block = cache.classes[index];
  if (block == nullptr) return system_allocate((index + 1) * kAlignment);
  cache.classes[index] = block->next;
  cache.bytes -= (index + 1) * kAlignment;
  return block;
}

void deallocate_small(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  SmallCache& cache = small_cache;
  if (bytes > kMaxSmallBlock || cache.closed ||
      cache.bytes >= kCachedSmallBytes) {
    system_deallocate(memory);
    return;
  }
  if (!cache.registered) register_closer();
  const std::size_t index = small_class(bytes);
  cache.bytes += (index + 1) * kAlignment;
  cache.classes[index] = new (memory) FreeBlock{cache.classes[index]};
}

void release_cached_memory() {
  drain(small_cache);
  large_cache().drain();
}

Allocator& cpu_allocator() {
  static auto* allocator = new CpuAllocator;
  return *allocator;
}

Allocator& host_allocator() {
  static auto* allocator = new CpuAllocator;
  return *allocator;
}

namespace {

// Made at load. If a process forked while a thread made them, the child would
// wait for that thread for good.
[[gnu::constructor]] void make_allocators() {
  cpu_allocator();
  host_allocator();
  large_cache();
}

}  // namespace

}  // namespace hvd::autograd
