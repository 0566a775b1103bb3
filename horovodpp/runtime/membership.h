// A Membership is a rank's part in a job as somebody holds it who may outlive
// the job: a reducer, an optimizer.
//
//   const Membership membership = runtime.membership();
//   ...
//   HVD_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> job, membership.enter());
//   job->allreduce_async_(...);
//
// Once the rank has left the job, by stop(), by reform() or because the Runtime
// is gone, nobody enters any more; whoever is inside is waited for. It keeps
// nothing of the job alive, so that another one can begin.
//
// Thread-safe. A value.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <future>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/mutex.h"

namespace hvd {

class Runtime;

class Membership {
 public:
  // Of a job that has ended.
  Membership() = default;
  explicit Membership(std::weak_ptr<Runtime> runtime)
      : runtime_(std::move(runtime)) {}

  // The Runtime, which does not end while this is held: for a moment, in which
  // nothing is waited for.
  //   FailedPrecondition  this rank has left the job; says what to do
  absl::StatusOr<std::shared_ptr<Runtime>> enter() const;

 private:
  std::weak_ptr<Runtime> runtime_;
};

namespace runtime {

// The Runtime's side of its memberships.
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

}  // namespace runtime
}  // namespace hvd
