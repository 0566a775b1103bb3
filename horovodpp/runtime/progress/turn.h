// SPDX-License-Identifier: Apache-2.0
// A Turn advances a rank's part in its job as far as possible now. It takes in
// submissions and mail, sends the coordinator's output, and executes batches.
//
// While a batch waits for other ranks all other work goes on: planes ask their
// interrupt, which calls poll().
//
// Driven by one thread at a time, except for leave().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/execution/quick_plan.h"
#include "horovodpp/runtime/progress/batch_trace.h"
#include "horovodpp/runtime/progress/heartbeat.h"
#include "horovodpp/runtime/progress/job_end.h"
#include "horovodpp/runtime/progress/loop_parts.h"
#include "horovodpp/runtime/progress/sleep_limit.h"

namespace hvd::runtime {

class Turn {
 public:
  // `heartbeat_deadline`: how long the link to a leader next to this one in the
  // tree may be down. `end` outlives this object.
  Turn(const LoopParts& parts, JobEnd& end,
       std::chrono::nanoseconds heartbeat_deadline);

  // Advances everything that can advance; returns whether anything did. Stops
  // before the next batch once `awaited`, unless nullptr, returns true.
  //   (errors)  the job is broken
  absl::StatusOr<bool> move_on(const Ready* awaited);
  // Whether a batch is to be executed next.
  bool has_batch() const { return next_ != nullptr; }

  // Executes `submission` if it is the only work and its peers are there. If
  // peers are missing it becomes the next batch; `begun` is called first.
  Quick try_at_once(const coordinator::SubmissionPtr& submission,
                    const std::function<void()>& begun);

  // Does everything but batches; returns whether the next driver has more to
  // do.
  absl::StatusOr<bool> move_on_without_batches();

  // Does everything but batches once, during a wait of a plane.
  //   Cancelled  the batch being executed is to be abandoned
  //   (errors)   the job is broken
  absl::Status poll();
  // When to call poll() without a ring.
  std::optional<Clock::TimePoint> poll_due() const;

  // Asks to leave the job. Any thread.
  void leave() { leave_requested_.store(true); }

  // Whether every rank has left, and all messages of this one have been sent.
  bool has_ended() const;
  // Logs how this rank's part ended.
  void log_end() const;

  bool is_busy() const {
    return parts_.coordinator.has_in_flight() || leaving_ || next_ != nullptr ||
           awaits_messages();
  }
  // How long the thread that drives may sleep; nullopt: until a ring.
  std::optional<Clock::Duration> sleep_limit(bool is_busy,
                                             Clock::TimePoint now) const;
  // Whether every event rings, so that it may sleep until then with nothing in
  // flight.
  bool is_rung_for_all() const;
  // The number of submissions that wakes it.
  std::int64_t wakes_at() const;

 private:
  bool awaits_messages() const {
    return parts_.messages != nullptr && parts_.messages->is_busy();
  }
  // The same during a wait of a plane.
  std::int64_t polls_at() const;
  std::optional<Clock::TimePoint> messages_due() const;
  WakeConditions wake_conditions(bool is_busy) const;  // Without heartbeats.
  absl::StatusOr<bool> agree();
  absl::StatusOr<bool> take_in();
  absl::Status begin_messages();
  absl::Status check_messages();
  absl::StatusOr<bool> receive();
  absl::Status pass_reports();
  void pass_questions();
  absl::StatusOr<bool> send_output();
  absl::Status beat();
  absl::Status receive_losses(int from, const std::string& notice);
  // Whether this rank is among `suspects`.
  bool is_among_lost(const std::vector<int>& suspects) const;
  absl::Status dropped_by(int from) const;
  void ring(coordinator::Bells bells);
  absl::StatusOr<bool> execute(const Ready* awaited);
  // Reads up to the next batch; returns whether a submission failed.
  absl::StatusOr<bool> read_schedule();
  void note_early_leave(const std::vector<coordinator::Failure>& failures);
  absl::Status carry_out(const coordinator::Batch& batch);
  void log_batch(const coordinator::Batch& batch, const char* how);
  void log_changes() const;
  bool traces() const { return parts_.log.writes(telemetry::LogLevel::kTrace); }

  const LoopParts parts_;
  BatchTrace trace_;
  JobEnd& end_;
  const bool several_nodes_;
  std::optional<Heartbeats> beats_;  // For a leader, among several nodes.
  std::atomic<bool> leave_requested_{false};
  bool leaving_ = false;
  std::uint64_t batches_ = 0;  // The number this rank took part in.
  std::uint64_t cycle_ = 0;    // Of the last batch.
  bool has_reported_early_leave_ =
      false;  // By a rank that left; reported to the others.
  const coordinator::Batch* next_ = nullptr;  // The batch to execute next.
  // When this turn took in submissions, if it did.
  std::optional<Clock::TimePoint> taken_at_;
  coordinator::TensorQueue::Changes changes_;            // Reused.
  std::vector<coordinator::SubmissionPtr> submissions_;  // Reused.
};

}  // namespace hvd::runtime
