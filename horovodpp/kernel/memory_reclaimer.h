// SPDX-License-Identifier: Apache-2.0
// A MemoryReclaimer frees memory when an allocator is about to exceed a limit:
//
//   add_reclaimer(cpu_allocator(), limit, std::weak_ptr(ledger));
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace hvd::autograd {

class Allocator;

class MemoryReclaimer {
 public:
  // Called on the thread that is about to allocate `bytes` bytes, which may
  // hold locks. Must not allocate from the same allocator. May free nothing.
  virtual void reclaim(std::size_t bytes) = 0;

 protected:
  ~MemoryReclaimer() = default;
};

// While `reclaimer` lives, it is called before each allocation of more than
// kMaxSmallBlock bytes that would bring the bytes in use above `limit`.
// `allocator` is one of allocator.h's; other allocators do not call reclaimers.
void add_reclaimer(const Allocator& allocator, std::int64_t limit,
                   std::weak_ptr<MemoryReclaimer> reclaimer);

// --- For allocators --- The least of all limits, possibly of a destroyed
// reclaimer.
extern constinit std::atomic<std::int64_t> least_reclaimer_limit;
// Calls the reclaimers of `allocator` whose limits `bytes` more would exceed.
void call_reclaimers(const Allocator& allocator, std::int64_t in_use,
                     std::size_t bytes);
inline void reclaim_for(const Allocator& allocator, std::int64_t in_use,
                        std::size_t bytes) {
  if (in_use + static_cast<std::int64_t>(bytes) >
      least_reclaimer_limit.load(std::memory_order_relaxed)) [[unlikely]] {
    call_reclaimers(allocator, in_use, bytes);
  }
}

}  // namespace hvd::autograd
