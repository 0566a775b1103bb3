// SPDX-License-Identifier: Apache-2.0
// A Recovery lets the survivors of a broken epoch carry on: they agree who of
// them is left (coordinator/survivor_vote.h), over the wires of the first
// epoch, and start a job of their own over a part of these.
//
// Between epochs one thread votes, by polling. While an epoch runs its wires
// keep an eye on the vote: a rank that could not enter, or begins anew, ends
// the epoch for all.
//
// What an epoch leaves behind (memory that peers or MPI may still touch) lives
// as long as this object, which outlives the jobs it gave. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/survivor_vote.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/runtime/job.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/epoch_router.h"

namespace hvd::runtime {

class Recovery {
 public:
  explicit Recovery(const Config& config);
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  // As Runtime::reform: ends `broken`, which is the first job or what reform()
  // gave last. `suspects` are ranks of it that were taken for lost because they
  // were silent.
  absl::StatusOr<std::shared_ptr<Job>> reform(
      const std::shared_ptr<Job>& broken,
      const std::vector<int>& suspects = {});

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Vote = coordinator::SurvivorVote;
  // Whether to look for notices on the wires, or only among what has come.
  enum class Look { kAtWires, kAtKept };

  absl::Status end(const std::shared_ptr<Job>& broken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void begin(const std::vector<int>& suspects);
  absl::StatusOr<std::shared_ptr<Job>> carry_on(TimePoint deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status agree(TimePoint deadline);
  absl::StatusOr<std::shared_ptr<Job>> start(const Vote::Members& members,
                                             TimePoint deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void warn_of_lost_sets(const Job& broken, Job& job);
  // Ends this rank's part in it; returns the reason.
  absl::Status give_up(const absl::Status& why);

  // Takes in losses and notices, sends what the vote has to say. For the thread
  // that drives the wires.
  absl::Status attend(Look look) ABSL_EXCLUSIVE_LOCKS_REQUIRED(vote_mutex_);
  // The interrupt of an epoch's wires.
  absl::Status check_epoch(std::uint32_t epoch);
  // OK while `epoch` is the one decided on.
  absl::Status still_decided(std::uint32_t epoch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(vote_mutex_);
  std::vector<int> lost_so_far();
  std::string describe(const std::vector<int>& ranks) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(vote_mutex_);

  const Config config_;
  Mutex mutex_;  // Of one reform() at a time.
  const Job* current_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Status verdict_ ABSL_GUARDED_BY(mutex_);  // Once it cannot go on.
  // The wires hold the first job, the rest is here.
  std::vector<std::shared_ptr<Job>> ended_ ABSL_GUARDED_BY(mutex_);
  Job::Arenas arenas_ ABSL_GUARDED_BY(mutex_);  // They go from job to job.
  // Made by the first reform(); then for the thread that drives the wires.
  std::shared_ptr<transport::EpochRouter> router_;

  Mutex vote_mutex_;
  std::optional<Vote> vote_ ABSL_GUARDED_BY(vote_mutex_);
  std::size_t losses_seen_ ABSL_GUARDED_BY(vote_mutex_) = 0;
  std::string complaint_ ABSL_GUARDED_BY(vote_mutex_);  // About a notice.
};

}  // namespace hvd::runtime
