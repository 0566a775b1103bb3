// SPDX-License-Identifier: Apache-2.0
// Departures ends ranks of an elastic job that leave as planned: displaced ranks
// (places.h), and ranks whose agent somebody has told to end. Such a rank gets
// SIGTERM and, after a time, SIGKILL.
//
// One member of the job stays until a rank with a place has been in the job for
// the same time, because the state of the job would be lost with it.
//
// No clock and no I/O. Not thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/job/job_record.h"

namespace hvd::launcher {

class Departures {
 public:
  struct Signal {
    int rank = 0;
    int signal = 0;

    friend bool operator==(const Signal&, const Signal&) = default;
  };

  // `leaving_time` is the time from SIGTERM to SIGKILL, and for a newcomer to get
  // the state.
  explicit Departures(std::chrono::milliseconds leaving_time)
      : leaving_time_(leaving_time) {}

  // The signals to send now. The caller records that a rank with SIGTERM leaves.
  std::vector<Signal> due(const std::vector<int>& displaced,
                          const JobRecord& job, Clock::TimePoint now);
  // When to ask again without an event.
  Clock::TimePoint deadline() const;

 private:
  int keeper(const std::vector<int>& displaced, const JobRecord& job,
             Clock::TimePoint now);

  const std::chrono::milliseconds leaving_time_;
  std::map<int, Clock::TimePoint> kills_;  // By rank; max: it was killed.
  // When a newcomer has the state that a displaced rank keeps.
  Clock::TimePoint next_release_ = Clock::TimePoint::max();
};

}  // namespace hvd::launcher
