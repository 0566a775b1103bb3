// SPDX-License-Identifier: Apache-2.0
// A SpinLock is one byte that guards a few pointers: for sections of a few
// instructions in objects too small for a mutex. A thread that finds it taken
// yields.
#pragma once

#include <sched.h>

#include <atomic>

#include "horovodpp/core/export.h"
#include "horovodpp/core/thread/lockable.h"

namespace HVD_EXPORT hvd {

class HVD_LOCKABLE SpinLock {
 public:
  void lock() HVD_ACQUIRES() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      ::sched_yield();
    }
  }
  void unlock() HVD_RELEASES() {
    taken_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> taken_{false};
};

class HVD_SCOPED_LOCKABLE SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock& spin) HVD_ACQUIRES(spin) : spin_(spin) {
    spin_.lock();
  }
  ~SpinLockHolder() HVD_RELEASES() { spin_.unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock& spin_;
};

}  // namespace hvd
