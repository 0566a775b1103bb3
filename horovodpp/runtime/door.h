// A Door is the Runtime's side of its memberships (membership.h): who holds one
// comes in through it as long as it is open.
//
// Thread-safe.
#pragma once

#include <future>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/runtime/membership.h"

namespace hvd::runtime {

class Door {
 public:
  // Is shut before it goes.
  explicit Door(Runtime* runtime);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  Membership membership() const;
  // Returns once nobody is inside. Callable again.
  void shut();
  // Instead of shut(), in a forked child: whoever was inside is not in it.
  void abandon();

 private:
  mutable Mutex mutex_;
  std::shared_ptr<Runtime> open_ ABSL_GUARDED_BY(mutex_);  // Owns nothing.
  std::shared_future<void> empty_;
};

}  // namespace hvd::runtime
