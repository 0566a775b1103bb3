// SPDX-License-Identifier: Apache-2.0
// A Turn moves a rank's part in its job on by everything that can be done at the
// moment: it takes in submissions and mail, gives out what the coordinator has to
// say, and has batches executed.
//
// While a batch waits for other ranks all the rest goes on: planes ask their
// interrupt, which calls attend().
//
// Driven by one thread at a time, but for leave().
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
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/clock.h"
#include "horovodpp/core/promise.h"
#include "horovodpp/runtime/execution/quick_plan.h"
#include "horovodpp/runtime/progress/heartbeat.h"
#include "horovodpp/runtime/progress/job_end.h"
#include "horovodpp/runtime/progress/loop_parts.h"
#include "horovodpp/runtime/progress/sleep_limit.h"

namespace hvd::runtime {

class Turn {
 public:
  // `heartbeat_deadline`: how long a leader next to this one in the tree may be
  // silent. `end` outlives this.
  Turn(const LoopParts& parts, JobEnd& end,
       std::chrono::nanoseconds heartbeat_deadline);

  // Moves everything on that can move; whether anything did. Stops before the
  // next batch once `awaited` says so, unless that is nullptr.
  //   (errors)  the job is broken
  absl::StatusOr<bool> move_on(const Ready* awaited);

  // Executes `submission` if it is all there is to do, and its peers are there. Where
  // they are not there yet it is the next batch; `begun` is called first.
  Quick try_at_once(const coordinator::SubmissionPtr& submission,
                    const std::function<void()>& begun);

  // Everything but batches: whether there is more to do for the thread that
  // drives next.
  absl::StatusOr<bool> look();

  // One look at everything but batches, in a wait of a plane.
  //   Cancelled  the batch being executed is to be abandoned
  //   (errors)   the job is broken
  absl::Status attend();
  // When attend() is to be called though nobody rings.
  std::optional<Clock::TimePoint> attend_due() const;

  // Asks to leave the job. Any thread.
  void leave() { leave_requested_.store(true); }

  // Every rank has left, and this one owes nobody anything.
  bool has_ended() const;
  // Tells the log how this rank's part ended.
  void log_end() const;

  bool is_busy() const {
    return parts_.coordinator.has_in_flight() || leaving_ || next_ != nullptr;
  }
  // How long the thread that drives may sleep; nullopt: until somebody rings.
  std::optional<Clock::Duration> sleep_limit(bool is_busy,
                                             Clock::TimePoint now) const;
  // Whether it may sleep until then, with nothing in flight.
  bool is_rung_for_all() const;
  // As many submissions are to wake it.
  std::int64_t wakes_at() const;

 private:
  // In a wait of a plane.
  std::int64_t attends_at() const;
  Outlook outlook(bool is_busy) const;  // But for heartbeats.
  absl::StatusOr<bool> agree();
  absl::StatusOr<bool> take_in();
  absl::StatusOr<bool> receive();
  absl::StatusOr<bool> give_out();
  absl::Status beat();
  absl::Status hear_of_losses(int from, const std::string& notice);
  // Whether this rank is one of them.
  bool is_given_up(const std::vector<int>& suspects) const;
  absl::Status given_up_by(int from) const;
  void ring(coordinator::Bells bells);
  absl::StatusOr<bool> execute(const Ready* awaited);
  // As far as the next batch; whether something failed.
  absl::StatusOr<bool> read_schedule();
  void note_hindrance(const std::vector<coordinator::Failure>& failures);
  absl::Status carry_out(const coordinator::Batch& batch);
  void log_batch(const coordinator::Batch& batch, const char* how);
  void log_news() const;
  bool traces() const { return parts_.log.writes(telemetry::LogLevel::kTrace); }

  const LoopParts parts_;
  JobEnd& end_;
  const bool several_nodes_;
  std::optional<Heartbeats> beats_;  // A leader's, among several nodes.
  std::atomic<bool> leave_requested_{false};
  bool leaving_ = false;
  std::uint64_t batches_ = 0;  // That this rank took part in.
  std::uint64_t cycle_ = 0;    // Of the last of them.
  bool hindered_ = false;  // By a rank that left, which others have been told.
  const coordinator::Batch* next_ = nullptr;  // To be executed.
  // When this turn has taken in submissions, if it has.
  std::optional<Clock::TimePoint> taken_at_;
  coordinator::TensorQueue::News news_;  // Its memory is used again.
  std::vector<coordinator::SubmissionPtr> submissions_;  // Likewise.
};

}  // namespace hvd::runtime
