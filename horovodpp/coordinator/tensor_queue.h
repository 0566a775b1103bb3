// The TensorQueue is the boundary between the threads that submit tensors and
// the one that drives the runtime: submissions go in by key, requests come out
// for the coordinator, and each submission comes out once, to be executed or
// failed.
//
// Thread-safe. No completion is called under its lock.
#pragma once

#include <atomic>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/mutex.h"

namespace hvd::coordinator {

class TensorQueue {
 public:
  //   AlreadyExists    its name is in flight on this rank
  //   (as close() said)  the queue is closed
  // `submission` is left as it was if it is refused.
  absl::Status push(Submission&& submission);

  // The requests pushed since the last call, in order.
  std::vector<Request> take_requests();

  // Somebody blocks until the submission `key` has an outcome.
  void wait_for(const Key& key);
  // The keys of wait_for() since the last call that are still in flight.
  std::vector<Key> take_waited_for();

  // Whether either has come up since it was last taken. Cheap.
  bool has_news() const { return has_news_.load(std::memory_order_acquire); }

  // Takes the submissions of these keys out. NotFound if one is not in flight.
  absl::StatusOr<std::vector<Submission>> take(const std::vector<Key>& keys);

  // What was taken is in flight again, or fails if the queue is closed.
  void put_back(std::vector<Submission> submissions);

  // Fails the submission `key`, if it is in flight.
  void fail(const Key& key, const absl::Status& why);

  // Fails everything in flight, and every later push, with `reason`. The first
  // reason stands.
  void close(const absl::Status& reason);

 private:
  using InFlight = absl::flat_hash_map<Key, Submission>;

  std::atomic<bool> has_news_{false};
  Mutex mutex_;
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::vector<Request> unsent_ ABSL_GUARDED_BY(mutex_);
  std::vector<Key> waited_for_ ABSL_GUARDED_BY(mutex_);
  InFlight in_flight_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::coordinator
