// SPDX-License-Identifier: Apache-2.0
// A LiveView makes the block of --watch (watch/watch_block.h) from the record
// of a job and its agents' regular reports.
//
// No clock, no I/O. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/job/job_record.h"
#include "horovodrun/watch/rank_activity.h"
#include "horovodrun/watch/watch_block.h"

namespace hvd::launcher {

class LiveView {
 public:
  static constexpr std::chrono::milliseconds kInterval{500};

  LiveView(int ranks, Clock::TimePoint now)
      : begin_(now), next_(now), ranks_(static_cast<std::size_t>(ranks)) {}

  // Takes a report of kind kActivity.
  void arrived(const Report& report, Clock::TimePoint now);

  // When the block changes next.
  Clock::TimePoint deadline() const { return next_; }
  // The block, if it is time for a new one.
  std::optional<std::vector<std::string>> block(const JobRecord& job,
                                                const WatchSize& size,
                                                Clock::TimePoint now);
  std::vector<WatchedRank> ranks(const JobRecord& job) const;

 private:
  struct Seen {
    std::optional<RankActivity> activity{};  // The last one,
    Clock::TimePoint at{};                   // and when it came.
    std::optional<double> rate{};            // Since the one before.
    std::optional<double> cpu{};
  };

  WatchedRank watched(const RankRecord& record, const Seen& seen) const;

  const Clock::TimePoint begin_;
  Clock::TimePoint next_;
  std::vector<Seen> ranks_;
};

}  // namespace hvd::launcher
