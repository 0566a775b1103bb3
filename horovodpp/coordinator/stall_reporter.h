// SPDX-License-Identifier: Apache-2.0
// StallReporter times one rank's submissions: it reports those that have waited
// too long, and says when to check next.
//
// Pure: `now` is passed in, and does not go back.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

// How long a submission may wait for the head of a cycle before its rank asks
// to leave the cycle. A program may submit the head only after it has seen the
// result of a later operation, a dependency that the coordinator cannot detect.
inline constexpr Clock::Duration kCycleHeadTimeout = std::chrono::seconds(5);

class StallReporter {
 public:
  // How long a submission waits before it is reported, and before the job
  // fails; zero: forever.
  StallReporter(Clock::Duration warning, Clock::Duration shutdown)
      : warning_(warning), shutdown_(shutdown) {}

  // This rank has submitted `name`; `is_first`: nothing else was in flight.
  void submitted(const std::string& name, bool is_first, Clock::TimePoint now) {
    last_name_ = name;
    last_at_ = now;
    if (is_first && warning_.count() > 0) {
      due_ = now + std::min(warning_, kCycleHeadTimeout);
    }
  }

  // When to call report(), while operations are in flight.
  std::optional<Clock::TimePoint> due() const { return due_; }
  void make_due_by(Clock::TimePoint time) {
    if (due_ && time < *due_) due_ = time;
  }

  struct Waiting {
    Clock::TimePoint since;
    Key key = {};
    bool is_join = false;
    bool may_wait = false;  // Not a stall: members free a set at any time.
    std::vector<int> ranks = {};  // As of Stalled.
  };
  // The reports for everything that waits, oldest first. `waiting` is not
  // empty, and no entry may wait.
  std::vector<Stalled> report(std::vector<Waiting> waiting,
                              Clock::TimePoint now);

  // Sets due() as report() does, where all that waits may wait.
  void check_later(Clock::TimePoint now) { due_ = now + warning_; }

  // Adds the last submission to `state`.
  void describe_last(Clock::TimePoint now, RankState& state) const;

 private:
  const Clock::Duration warning_;
  const Clock::Duration shutdown_;
  std::optional<Clock::TimePoint> due_;
  std::string last_name_;
  std::optional<Clock::TimePoint> last_at_;
};

}  // namespace hvd::coordinator
