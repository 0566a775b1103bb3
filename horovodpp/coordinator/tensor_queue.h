// The TensorQueue is the boundary between the threads that submit tensors and
// the one that drives the runtime: submissions go in by name, requests come out
// for the coordinator, and each submission comes out once, to be executed or
// failed.
//
// Thread-safe. No completion is called under its lock.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/request.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/tensor_view.h"

namespace hvd::coordinator {

// What a caller asked for: the request its peers are told about, and the memory
// and completion they are not.
struct Submission {
  Request request;
  ConstTensorView input;
  TensorView output;  // Where the result goes; nowhere for an allgather.
  // Called once with the outcome: the gathered tensor of an allgather, else an
  // empty Buffer.
  std::function<void(absl::StatusOr<Buffer>)> done;
};

class TensorQueue {
 public:
  // Takes all of them or none.
  //   AlreadyExists      a name is in flight on this rank, or twice in the
  //   group (as close() said)  the queue is closed
  absl::Status push(std::vector<Submission> group);

  // The requests pushed since the last call, in order.
  std::vector<Request> take_requests();

  // Takes the submissions of these names out. NotFound if one is not in flight.
  absl::StatusOr<std::vector<Submission>> take(
      const std::vector<std::string>& names);

  // Fails the submission `name`, if it is in flight.
  void fail(const std::string& name, const absl::Status& why);

  // Fails everything in flight, and every later push, with `reason`. The first
  // reason stands.
  void close(const absl::Status& reason);

 private:
  using InFlight = absl::flat_hash_map<std::string, Submission>;

  Mutex mutex_;
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::vector<Request> unsent_ ABSL_GUARDED_BY(mutex_);
  InFlight in_flight_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::coordinator
