// SPDX-License-Identifier: Apache-2.0
// A MemoryReclaimer frees memory of an allocator when that is about to hold more
// than a number of bytes:
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
  // On the thread that is about to allocate so many bytes, which may hold locks.
  // Must not allocate from the same allocator. Need not find anything to free.
  virtual void reclaim(std::size_t bytes) = 0;

 protected:
  ~MemoryReclaimer() = default;
};

// While `reclaimer` lives, it is called before each allocation of more than
// kMaxSmallBlock bytes with which more than `limit` would be in use. `allocator`
// is one of allocator.h's; others call nobody.
void add_reclaimer(const Allocator& allocator, std::int64_t limit,
                   std::weak_ptr<MemoryReclaimer> reclaimer);

// --- For allocators ---
// The least of all limits; some may be those of reclaimers that are gone.
extern constinit std::atomic<std::int64_t> least_reclaimer_limit;
// Calls those of `allocator` whose limit does not allow for `bytes` more.
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
