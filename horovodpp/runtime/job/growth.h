// SPDX-License-Identifier: Apache-2.0
// A Growth is a rank's connection to the launcher's waiting room
// (transport/tcp/waiting_room.h). By it, processes that were started later join
// a running job, if the launcher has started an elastic one.
//
// It passes from job to job of its rank. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/job/job.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/transport/tcp/room_guest.h"

namespace hvd::runtime {

class Growth {
 public:
  explicit Growth(const Config& config) : config_(config) {}

  const Config& config() const { return config_; }
  // The launcher's numbers of the ranks of the last grown job.
  std::vector<int> numbers();

  // Begins to watch the room; for rank 0 of a job. Without a room it does
  // nothing; a room that cannot be reached is logged.
  void watch(telemetry::Log& log);
  // The number of newcomers that wait, as far as this rank knows.
  int waiting();

  // On rank 0: admits newcomers to a job of `ranks`. Size 0: nobody waits, or
  // the job has its largest size.
  //   Unavailable  the room cannot be reached
  absl::StatusOr<transport::Admission> admit(int ranks);
  // Gives up the growth that admit() has begun.
  void withdraw();

  // Starts this rank's part of the grown job, beside the job `old`, and waits
  // for the other members. Called by all ranks of `old` with the admission of
  // rank 0, and with their own rank.
  //   Unavailable  the growth was dissolved; says why. `old` is as before
  absl::StatusOr<std::unique_ptr<Job>> grow(
      const transport::Admission& admission, const Job& old);

  // A newcomer's start: waits in the room until a job admits it and has
  // started.
  //   Cancelled  the launcher has ended, and so the job
  //   (errors)   the settings differ from those of the job
  absl::StatusOr<std::unique_ptr<Job>> join();

 private:
  using Interrupt = std::function<absl::Status()>;

  absl::StatusOr<std::unique_ptr<transport::RoomGuest>> enter_room(
      int rank, std::chrono::nanoseconds timeout);
  void watch_through(std::unique_ptr<transport::RoomGuest> guest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The admission of a newcomer, once it has one.
  absl::StatusOr<transport::Admission> wait_to_be_admitted()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::unique_ptr<Job>> start(
      const transport::Admission& admission, const Interrupt& interrupt,
      const Job::Kept* kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reports `job` to the room, and returns it once all members have one.
  absl::StatusOr<std::unique_ptr<Job>> await_others(
      absl::StatusOr<std::unique_ptr<Job>> job, const Interrupt& still_wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads a message that is not an answer: the number that wait, or the end of
  // the growth.
  void note(const std::string& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Not OK once the room has dissolved the growth, or has ended.
  absl::Status hear_of_end() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Config config_;
  Mutex mutex_;
  // Null: not in the room.
  std::unique_ptr<transport::RoomGuest> guest_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<int> numbers_ ABSL_GUARDED_BY(mutex_);
  absl::Status dissolved_ ABSL_GUARDED_BY(mutex_);  // Why the growth was.
};

}  // namespace hvd::runtime
