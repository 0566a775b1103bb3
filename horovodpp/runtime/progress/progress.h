// SPDX-License-Identifier: Apache-2.0
// The progress loop of one rank: it runs turns while there is work, and
// otherwise sleeps on the rank's doorbell. A rank with nothing in flight uses
// no CPU: producers of work ring the bell.
//
// The loop has its own thread. A thread that waits for an outcome may drive the
// loop meanwhile: a call that is waited for at once then wakes no other thread.
// One thread drives at a time.
//
// A message from another node rings no bell. So with several nodes a rank with
// work in flight sleeps only briefly, and an idle leader polls a few times a
// second.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/progress/job_end.h"
#include "horovodpp/runtime/progress/loop_parts.h"
#include "horovodpp/runtime/progress/turn.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::runtime {

class Progress {
 public:
  // `heartbeat_deadline`: how long the link to a leader next to this one in the
  // tree may be down.
  Progress(const LoopParts& parts, std::chrono::nanoseconds heartbeat_deadline);

  // Runs until every rank has left (OK) or the job is broken. Then returns the
  // reason; every rank has been told, and the queue is closed with it. For one
  // thread.
  absl::Status run();

  // Drives the job until `ready`, or its end, on a thread that waits for the
  // submission `key`. Returns false at once if another thread drives. A thread
  // that waits for a message executes no batches and leaves them to another
  // thread: the ranks that a batch lacks may need this thread's next call.
  bool help(const coordinator::Key& key, const Ready& ready,
            bool executes = true);

  // Executes `submission` on this thread if it is the only work: no thread
  // drives, the bell has not rung, and the peers are there. See SubmissionSink.
  Quick try_at_once(const coordinator::SubmissionPtr& submission,
                    const std::function<void()>& begun);

  // Whether this thread drives the job now, as a callback of a future may.
  bool is_driven_here() const {
    return driver_.load() == std::this_thread::get_id();
  }

  // Asks run() to leave the job. Any thread.
  void leave();

  // See Turn; on the thread that drives.
  absl::Status poll() { return turn_.poll(); }
  std::optional<Clock::TimePoint> poll_due() const { return turn_.poll_due(); }

 private:
  using Listener = transport::Doorbell::Listener;

  // A sleep on this rank's doorbell, begun by listen().
  struct Sleep {
    std::uint32_t ticket = 0;
    Clock::TimePoint began;
    std::optional<Clock::Duration> limit;  // nullopt: until a ring.
  };
  // Makes progress, returns a sleep if there is none to make, or sets end_. An
  // exception breaks the job; move_on() lets it through.
  std::optional<Sleep> go_on(Listener as)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  std::optional<Sleep> move_on(Listener as)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // If there is no reason to spin, makes a last turn before the sleep.
  absl::StatusOr<bool> turn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  absl::StatusOr<bool> try_to_sleep(Listener as, std::optional<Sleep>& sleep)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  void sleep(Listener as, const Sleep& sleep);
  void drive_until(const coordinator::Key& key, const Ready& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // Ends this thread's driving; returns whether the resting thread has to go on
  // at once.
  bool is_to_hand_over() ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  bool look_again() ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // Whether a thread has to go on, or to wake earlier than the resting thread
  // would.
  bool needs_driver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  bool try_to_drive() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, driving_);

  coordinator::TensorQueue& queue_;
  transport::Doorbell& bell_;  // This rank's.
  const transport::WaitPolicy waiting_;
  JobEnd job_end_;
  Turn turn_;
  Mutex driving_;  // Held by the thread that drives; it guards all but
  std::atomic<std::thread::id> driver_{};  // this one.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(driving_);
  // How the thread of run() sleeps, if it does. Another driver takes the rings
  // meanwhile, and hands the bell back.
  std::optional<Sleep> resting_ ABSL_GUARDED_BY(driving_);
  const Ready* awaited_ = nullptr;  // The driver's condition, if any.
  bool executes_ ABSL_GUARDED_BY(driving_) = true;    // The driver does.
  bool has_moved_ ABSL_GUARDED_BY(driving_) = false;  // Since active_at_.
  Clock::TimePoint active_at_;
};

}  // namespace hvd::runtime
