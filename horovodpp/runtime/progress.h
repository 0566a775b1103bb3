// The progress loop of one rank: it takes in submissions, mail and the
// schedule, has batches executed, and sleeps on the rank's doorbell when there
// is nothing to do. A rank with nothing in flight uses no CPU: whoever has
// something for it rings.
//
// It has a thread of its own, and besides that any thread that waits for an
// outcome may drive it meanwhile: a call that is waited for at once then needs
// no other thread to be woken. One thread drives at a time.
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
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/promise.h"
#include "horovodpp/runtime/executor.h"
#include "horovodpp/runtime/health.h"
#include "horovodpp/runtime/heartbeat.h"
#include "horovodpp/runtime/launcher_channel.h"
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
    const LauncherChannel& launcher;
  };

  // `heartbeat_deadline`: how long a leader next to this one in the tree may be
  // silent.
  Progress(const Parts& parts, std::chrono::nanoseconds heartbeat_deadline);

  // Runs until every rank has left (OK) or the job is broken (why; every rank
  // has been told, and the queue is closed with it). For one thread.
  absl::Status run();

  // Drives the job until `ready`, or its end, on a thread that waits for the
  // submission `key`. False, at once, if another thread drives it.
  bool help(const coordinator::Key& key, const Ready& ready);

  // Whether this thread drives the job now, as a callback of a future may.
  bool is_driven_here() const;

  // Asks run() to leave the job. Any thread.
  void leave();

  // One look at everything but batches, on the thread that drives.
  //   Cancelled  the batch being executed is to be abandoned
  //   (errors)   the job is broken
  absl::Status attend();
  // When attend() is to be called though nobody rings.
  std::optional<std::chrono::steady_clock::time_point> attend_due() const;

 private:
  // Moves everything on that can move; whether anything did.
  absl::StatusOr<bool> turn();
  // Everything but batches.
  absl::StatusOr<bool> agree();
  absl::StatusOr<bool> take_in();
  absl::StatusOr<bool> give_out();
  absl::StatusOr<bool> execute();
  // As far as the next batch; whether something failed.
  absl::StatusOr<bool> read_schedule();
  void note_hindrance(const std::vector<coordinator::Failure>& failures);
  absl::Status carry_out(const coordinator::Batch& batch);
  absl::Status beat();
  absl::Status hear_of_losses(int from, const std::string& notice);
  using Listener = transport::Doorbell::Listener;

  // A sleep on this rank's doorbell, which has been listened to.
  struct Nap {
    std::uint32_t ticket = 0;
    std::chrono::steady_clock::time_point began;
    std::chrono::nanoseconds patience{0};  // Negative: for ever.
  };
  // Moves things on, or says that there is nothing to do for a while, or sets
  // end_. What is thrown meanwhile breaks the job; move_on() throws it.
  std::optional<Nap> go_on(Listener as) ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  std::optional<Nap> move_on(Listener as)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  void drive_until(const coordinator::Key& key, const Ready& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // The driver stops: whether the resting thread has to go on at once.
  bool is_to_hand_over() ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // If it is time for a nap, makes a last turn() before it.
  absl::StatusOr<bool> lie_down(Listener as, std::optional<Nap>& nap);
  bool look_again() ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // In a catch clause: what there is to catch.
  absl::Status what_was_thrown() const noexcept;
  void break_down(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // In a catch clause; throws nothing, whatever there is no memory for.
  void break_down_after_throw() noexcept
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  // Whether somebody has to go on, or to wake earlier than the resting thread
  // would.
  bool needs_driver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(driving_);
  bool try_to_drive() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, driving_);
  transport::Doorbell& bell() const;
  std::chrono::nanoseconds patience(bool busy) const;
  std::size_t submissions_to_wake_at() const;
  bool ended() const;
  bool busy() const;
  void ring(coordinator::Bells bells);
  absl::Status say_goodbye();
  // Makes `why` the reason of the job's end, unless there is one; returns the
  // reason.
  absl::Status settle(const absl::Status& why);
  absl::Status publish(const absl::Status& why);
  void tell_other_nodes(const absl::Status& reason);

  Parts parts_;
  const transport::WaitPolicy waiting_;
  const bool several_nodes_;
  // Made while there is some.
  const absl::Status out_of_memory_;
  const std::string out_of_memory_text_;
  std::optional<Heartbeats> beats_;  // A leader's, among several nodes.
  Mutex driving_;  // Held by the thread that drives; it guards all but
  std::atomic<std::thread::id> driver_{};  // these two.
  std::atomic<bool> leave_requested_{false};
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(driving_);
  // How the thread of run() sleeps, if it does. Whoever drives meanwhile hears
  // the rings, and leaves the bell for it.
  std::optional<Nap> resting_ ABSL_GUARDED_BY(driving_);
  bool leaving_ = false;
  bool hindered_ = false;  // By a rank that left, which others have been told.
  std::optional<coordinator::Batch> next_;  // To be executed.
  const Ready* awaited_ = nullptr;  // What the driver waits for, if it does.
  coordinator::TensorQueue::News news_;  // Its memory is used again.
  std::chrono::steady_clock::time_point active_at_;
};

}  // namespace hvd::runtime
