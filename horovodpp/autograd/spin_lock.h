// One byte that guards a handful of pointers: for sections of a few
// instructions in objects too small for a mutex. Whoever finds it taken yields.
#pragma once

#include <atomic>
#include <thread>

#include "absl/base/thread_annotations.h"

namespace hvd::autograd {

class ABSL_LOCKABLE SpinLock {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      std::this_thread::yield();
    }
  }
  void unlock() ABSL_UNLOCK_FUNCTION() {
    taken_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> taken_{false};
};

class ABSL_SCOPED_LOCKABLE SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock& spin) ABSL_EXCLUSIVE_LOCK_FUNCTION(spin)
      : spin_(spin) {
    spin_.lock();
  }
  ~SpinLockHolder() ABSL_UNLOCK_FUNCTION() { spin_.unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock& spin_;
};

}  // namespace hvd::autograd
