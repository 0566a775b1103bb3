// SPDX-License-Identifier: Apache-2.0
// The present work of a rank, for horovodrun --watch. An Activity counts the
// collectives that the rank begins. An ActivityReporter sends the count to the
// launcher twice a second, with the name that has waited longest. Without
// --watch neither exists.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/job/rank_progress.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/channels/launcher_channel.h"

namespace hvd::runtime {

// Thread-safe.
class Activity {
 public:
  void begins(const coordinator::Batch& batch);
  RankProgress now() const;

 private:
  mutable Mutex mutex_;
  RankProgress progress_ ABSL_GUARDED_BY(mutex_);
};

// Finds the name that has waited longest, from samples of the names in flight.
// Not thread-safe.
class LongestWait {
 public:
  // Adds it to `progress` if earlier samples had it, too.
  void see(const std::vector<coordinator::TensorQueue::InFlight>& sample,
           Clock::TimePoint now, RankProgress& progress);

 private:
  struct Waiting {
    coordinator::TensorQueue::InFlight what{};
    Clock::TimePoint since{};
  };
  std::vector<Waiting> waiting_;  // Of the last sample.
};

class ActivityReporter {
 public:
  static constexpr std::chrono::milliseconds kInterval{500};

  // The arguments outlive this object.
  ActivityReporter(const Activity& activity, coordinator::TensorQueue& queue,
                   const LauncherChannel& launcher)
      : activity_(activity), queue_(queue), launcher_(launcher) {}
  ~ActivityReporter();
  ActivityReporter(const ActivityReporter&) = delete;
  ActivityReporter& operator=(const ActivityReporter&) = delete;

  // ResourceExhausted: the thread cannot be created.
  absl::Status start();

 private:
  void run();

  const Activity& activity_;
  coordinator::TensorQueue& queue_;
  const LauncherChannel& launcher_;
  LongestWait longest_;
  Mutex mutex_;
  CondVar stop_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hvd::runtime
