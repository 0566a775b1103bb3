// SPDX-License-Identifier: Apache-2.0
// A LifetimeGuard lets users that may outlive an object access it as long as it
// exists.
//
//   LifetimeGuard<Engine> guard(&engine);
//   std::weak_ptr<Engine> key = guard.key();      // Handed out.
//   if (const auto inside = key.lock()) inside->turn();
//   guard.shut();                                 // Before `engine` goes.
//
// Thread-safe.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::runtime {

template <typename T>
class LifetimeGuard {
 public:
  // Call shut() before `guarded` is destroyed; it waits for the last user.
  explicit LifetimeGuard(T* guarded) {
    auto last_one_out = std::make_shared<std::promise<void>>();
    empty_ = last_one_out->get_future().share();
    MutexLock lock(mutex_);
    open_ = std::shared_ptr<T>(
        guarded, [last_one_out](T*) { last_one_out->set_value(); });
  }
  LifetimeGuard(const LifetimeGuard&) = delete;
  LifetimeGuard& operator=(const LifetimeGuard&) = delete;

  // lock() of a key gives access, unless the guard is shut.
  std::weak_ptr<T> key() const {
    MutexLock lock(mutex_);
    return open_;
  }

  // Refuses further users and returns once no user has access. Callable again.
  void shut() {
    std::shared_ptr<T> closed;
    {
      MutexLock lock(mutex_);
      closed.swap(open_);
    }
    closed.reset();
    empty_.wait();
  }

  // Replaces shut() in a forked child: users with access exist only in the
  // parent, whose threads may hold the lock.
  void abandon() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    new std::shared_ptr<T>(std::move(open_));
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<T> open_ ABSL_GUARDED_BY(mutex_);  // Owns nothing.
  std::shared_future<void> empty_;
};

}  // namespace hvd::runtime
