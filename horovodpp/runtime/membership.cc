#include "horovodpp/runtime/membership.h"

#include "absl/status/status.h"

namespace hvd {

absl::StatusOr<std::shared_ptr<Runtime>> Membership::enter() const {
  std::shared_ptr<Runtime> runtime = runtime_.lock();
  if (runtime != nullptr) return runtime;
  return absl::FailedPreconditionError(
      "this rank has left the job it was made for, by shutdown() or reform(); "
      "make it anew in the job there is now (after hvd::init(), if there is "
      "none)");
}

namespace runtime {

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

}  // namespace runtime
}  // namespace hvd
