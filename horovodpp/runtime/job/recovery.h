// SPDX-License-Identifier: Apache-2.0
// A Recovery restarts a broken job with its surviving ranks. They vote on the
// set of survivors (coordinator/failure/survivor_vote.h) over the connections
// of the first epoch, and start the next epoch over some of these connections.
//
// Between epochs one thread votes, by polling. While an epoch runs its wires
// watch the vote: a rank that could not enter, or that begins anew, ends the
// epoch for all ranks.
//
// The memory of an ended epoch, which peers or MPI may still touch, lives as
// long as this object. A Recovery outlives its jobs. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/failure/survivor_vote.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/job/job.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/epoch_router.h"

namespace hvd::runtime {

class Recovery {
 public:
  // `numbers` are the launcher's numbers of the first job's ranks; empty: their
  // own.
  explicit Recovery(const Config& config, std::vector<int> numbers = {});
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  // See Runtime::reform. Ends `broken`, which is the first job or the last one
  // that reform() returned. `suspects` are its ranks that were silent for too
  // long.
  absl::StatusOr<std::shared_ptr<Job>> reform(
      const std::shared_ptr<Job>& broken,
      const std::vector<int>& suspects = {});

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Vote = coordinator::SurvivorVote;
  // Where to look for notices: on the network too, or only among received mail.
  enum class Look { kOnNetwork, kReceivedOnly };

  absl::Status end(const std::shared_ptr<Job>& broken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void begin(const std::vector<int>& suspects);
  absl::StatusOr<std::shared_ptr<Job>> start_next_epoch(TimePoint deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status agree(TimePoint deadline);
  absl::StatusOr<std::shared_ptr<Job>> start(const Vote::Members& members,
                                             TimePoint deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void warn_of_lost_sets(const Job& broken, Job& job);
  // Ends this rank's part in the vote; returns the reason.
  absl::Status give_up(const absl::Status& why);

  // Receives losses and notices, and sends the vote's letters. For the thread
  // that drives the wires.
  absl::Status poll(Look look) ABSL_EXCLUSIVE_LOCKS_REQUIRED(vote_mutex_);
  // Tells the vote which ranks the wires have lost.
  void note_losses() ABSL_EXCLUSIVE_LOCKS_REQUIRED(vote_mutex_);
  // The interrupt of an epoch's wires.
  absl::Status check_epoch(std::uint32_t epoch);
  // OK while `epoch` is the one that the ranks decided on.
  absl::Status still_decided(std::uint32_t epoch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(vote_mutex_);
  std::vector<int> lost_so_far();
  std::string describe(const std::vector<int>& ranks) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(vote_mutex_);

  const Config config_;
  const std::vector<int> numbers_;
  Mutex mutex_;  // Serializes reform().
  const Job* current_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Status verdict_ ABSL_GUARDED_BY(mutex_);  // Set once it cannot go on.
  // Ended jobs but for the first, which the wires keep alive.
  std::vector<std::shared_ptr<Job>> ended_ ABSL_GUARDED_BY(mutex_);
  Job::Kept kept_ ABSL_GUARDED_BY(mutex_);  // Pass from job to job.
  // Created by the first reform(); then for the thread that drives the wires.
  std::shared_ptr<transport::EpochRouter> router_;

  Mutex vote_mutex_;
  std::optional<Vote> vote_ ABSL_GUARDED_BY(vote_mutex_);
  std::size_t losses_seen_ ABSL_GUARDED_BY(vote_mutex_) = 0;
  // About an unreadable notice.
  std::string notice_error_ ABSL_GUARDED_BY(vote_mutex_);
};

}  // namespace hvd::runtime
