#include "horovodpp/runtime/door.h"

#include <utility>

namespace hvd::runtime {

// The last one out says so.
Door::Door(Runtime* runtime) {
  auto last_one_out = std::make_shared<std::promise<void>>();
  empty_ = last_one_out->get_future().share();
  MutexLock lock(mutex_);
  open_ = std::shared_ptr<Runtime>(
      runtime, [last_one_out](Runtime*) { last_one_out->set_value(); });
}

Membership Door::membership() const {
  MutexLock lock(mutex_);
  return Membership(open_);
}

void Door::shut() {
  std::shared_ptr<Runtime> closed;
  {
    MutexLock lock(mutex_);
    closed.swap(open_);
  }
  closed.reset();
  empty_.wait();
}

// Its parent's threads may hold the lock.
void Door::abandon() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  new std::shared_ptr<Runtime>(std::move(open_));
}

}  // namespace hvd::runtime
