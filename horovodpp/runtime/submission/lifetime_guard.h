// SPDX-License-Identifier: Apache-2.0
// A LifetimeGuard guards an object whose users may outlive it: they are let in
// while the object exists.
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
  // The guard is shut before `behind` is destroyed. The last user that leaves
  // signals shut().
  explicit LifetimeGuard(T* behind) {
    auto last_one_out = std::make_shared<std::promise<void>>();
    empty_ = last_one_out->get_future().share();
    MutexLock lock(mutex_);
    open_ = std::shared_ptr<T>(
        behind, [last_one_out](T*) { last_one_out->set_value(); });
  }
  LifetimeGuard(const LifetimeGuard&) = delete;
  LifetimeGuard& operator=(const LifetimeGuard&) = delete;

  // A locked key is inside the guard, unless the guard is shut.
  std::weak_ptr<T> key() const {
    MutexLock lock(mutex_);
    return open_;
  }

  // Returns once no user is inside. Callable again.
  void shut() {
    std::shared_ptr<T> closed;
    {
      MutexLock lock(mutex_);
      closed.swap(open_);
    }
    closed.reset();
    empty_.wait();
  }

  // Replaces shut() in a forked child: users inside exist only in the parent,
  // whose threads may hold the lock.
  void abandon() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    new std::shared_ptr<T>(std::move(open_));
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<T> open_ ABSL_GUARDED_BY(mutex_);  // Owns nothing.
  std::shared_future<void> empty_;
};

}  // namespace hvd::runtime
