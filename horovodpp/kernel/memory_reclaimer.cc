// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/memory_reclaimer.h"

#include <pthread.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "horovodpp/core/thread/mutex.h"

namespace hvd::autograd {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// The reclaimers of all allocators.
class Reclaimers {
 public:
  void add(const Allocator& allocator, std::int64_t limit,
           std::weak_ptr<MemoryReclaimer> reclaimer) {
    MutexLock lock(mutex_);
    all_.push_back({&allocator, limit, std::move(reclaimer)});
    find_least();
  }

  // The reclaimers of `allocator` with a limit below `bytes`.
  std::vector<std::shared_ptr<MemoryReclaimer>> below(
      const Allocator& allocator, std::int64_t bytes) {
    std::vector<std::shared_ptr<MemoryReclaimer>> found;
    MutexLock lock(mutex_);
    std::erase_if(all_,
                  [](const Entry& entry) { return entry.reclaimer.expired(); });
    find_least();
    for (const Entry& entry : all_) {
      if (entry.allocator != &allocator || entry.limit >= bytes) continue;
      if (auto reclaimer = entry.reclaimer.lock()) {
        found.push_back(std::move(reclaimer));
      }
    }
    return found;
  }

  // Held during a fork, so that no other thread is inside then.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.unlock(); }

 private:
  struct Entry {
    const Allocator* allocator;
    std::int64_t limit;
    std::weak_ptr<MemoryReclaimer> reclaimer;
  };

  void find_least() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::int64_t least = kNoLimit;
    for (const Entry& entry : all_) least = std::min(least, entry.limit);
    least_reclaimer_limit.store(least, std::memory_order_relaxed);
  }

  Mutex mutex_;
  std::vector<Entry> all_ ABSL_GUARDED_BY(mutex_);
};

Reclaimers& reclaimers();

void lock_reclaimers() ABSL_NO_THREAD_SAFETY_ANALYSIS { reclaimers().lock(); }
void unlock_reclaimers() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  reclaimers().unlock();
}

// Never destroyed, like the allocators.
Reclaimers& reclaimers() {
  static auto* all = [] {
    auto* made = new Reclaimers;
    ::pthread_atfork(lock_reclaimers, unlock_reclaimers, unlock_reclaimers);
    return made;
  }();
  return *all;
}

}  // namespace

constinit std::atomic<std::int64_t> least_reclaimer_limit{kNoLimit};

void add_reclaimer(const Allocator& allocator, std::int64_t limit,
                   std::weak_ptr<MemoryReclaimer> reclaimer) {
  reclaimers().add(allocator, limit, std::move(reclaimer));
}

void call_reclaimers(const Allocator& allocator, std::int64_t in_use,
                     std::size_t bytes) {
  const std::int64_t wanted = in_use + static_cast<std::int64_t>(bytes);
  for (const auto& reclaimer : reclaimers().below(allocator, wanted)) {
    reclaimer->reclaim(bytes);
  }
}

}  // namespace hvd::autograd
