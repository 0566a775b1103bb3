// The progress loop of one rank: it takes in submissions, mail and the
// schedule, has batches executed, and sleeps on the rank's doorbell when there
// is nothing to do. A rank with nothing in flight uses no CPU: whoever has
// something for it rings.
//
// While a batch waits for other ranks the loop goes on with everything but
// batches: planes ask their watch, and the watch calls attend().
//
// On a job of several nodes a message from another node rings nothing. There a
// rank with work in flight naps between looks, and an idle leader looks a few
// times a second.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/runtime/executor.h"
#include "horovodpp/runtime/health.h"
#include "horovodpp/runtime/heartbeat.h"
#include "horovodpp/runtime/mailroom.h"
#include "horovodpp/telemetry/log.h"

namespace hvd::runtime {

class Progress {
 public:
  struct Parts {
    const Topology& topology;
    const transport::NodeSegment& segment;
    Mailroom& mailroom;
    coordinator::Coordinator& coordinator;
    coordinator::TensorQueue& queue;
    Executor& executor;
    Health& health;
    telemetry::Log& log;
  };

  // `heartbeat_deadline`: how long a leader next to this one in the tree may be
  // silent.
  Progress(const Parts& parts, std::chrono::nanoseconds heartbeat_deadline);

  // Runs until every rank has left (OK) or the job is broken (why; every rank
  // has been told, and the queue is closed with it).
  absl::Status run();

  // Asks run() to leave the job. Any thread.
  void leave();

  // One look at everything but batches, on the thread of run().
  //   Cancelled  the batch being executed is to be abandoned
  //   (errors)   the job is broken
  absl::Status attend();
  // When attend() is to be called though nobody rings.
  std::optional<std::chrono::steady_clock::time_point> attend_due() const;

 private:
  // Moves everything on that can move; whether anything did.
  absl::StatusOr<bool> turn();
  absl::StatusOr<bool> take_in();
  absl::StatusOr<bool> give_out();
  absl::StatusOr<bool> execute();
  absl::Status carry_out(const coordinator::Batch& batch);
  absl::Status beat();
  // Waits for something to do, or for a while; as turn(), which it makes on the
  // way.
  absl::StatusOr<bool> doze();
  std::chrono::nanoseconds patience(bool busy) const;
  bool ended() const;
  bool busy() const;
  void ring(coordinator::Bells bells);
  absl::Status say_goodbye();
  // Makes `why` the reason of the job's end, unless there is one; returns the
  // reason.
  absl::Status settle(const absl::Status& why);
  void tell_other_nodes(const absl::Status& reason);

  Parts parts_;
  const transport::WaitPolicy waiting_;
  const bool several_nodes_;
  std::optional<Heartbeats> beats_;  // A leader's, among several nodes.
  std::atomic<bool> leave_requested_{false};
  bool leaving_ = false;
  std::chrono::steady_clock::time_point active_at_;
};

}  // namespace hvd::runtime
