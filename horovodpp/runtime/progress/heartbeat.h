// SPDX-License-Identifier: Apache-2.0
// Heartbeats watches ranks that exchange only messages. Each rank sends its
// neighbors regular beats, and suspects a neighbor that stays silent for too
// long. Silence proves nothing, so a reported rank is only suspected.
//
//   Heartbeats beats({.neighbours = {0, 8}}, now);
//   for (int rank : beats.due(now)) send_beat(rank);
//   beats.heard(from, now);                     // On any message of `from`.
//   for (int rank : beats.lost(now)) suspect(rank);
//   sleep_until(beats.next(now));
//
// A rank that did not run for a while (stopped, swapped out, busy) has not
// received either. It accuses no neighbor and starts to count again. So ranks
// that are suspended together lose no rank.
//
// Pure: no clock, no thread; `now` does not go back.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "horovodpp/core/thread/clock.h"

namespace hvd::runtime {

class Heartbeats {
 public:
  struct Options {
    std::vector<int> neighbours = {};
    // The time between two beats to a neighbor. A link may be down for a
    // deadline less an interval without a loss.
    Clock::Duration interval = std::chrono::seconds(1);
    // How long a neighbor may be silent; several intervals.
    Clock::Duration deadline = std::chrono::seconds(4);

    // For links that may be down for kOutageBeats / (kOutageBeats + 1) of
    // `outage`.
    static Options for_outage(Clock::Duration outage,
                              std::vector<int> neighbours = {});
    static constexpr int kOutageBeats = 15;
  };

  Heartbeats(const Options& options, Clock::TimePoint now);

  // The ranks to send a beat now: all neighbors, once per interval.
  std::vector<int> due(Clock::TimePoint now);

  // Records mail of any kind from `rank`. Ranks that are not neighbors are
  // ignored.
  void heard(int rank, Clock::TimePoint now);
  // Records a sign of life by another way than mail. While such signs come,
  // mail may be later: as late as TCP may be after a link was down.
  void alive(int rank, Clock::TimePoint now);

  // The neighbors that have been silent for longer than the deadline, or sent
  // no mail for kMailDeadlines deadlines. Each is returned once, and not
  // watched any more.
  std::vector<int> lost(Clock::TimePoint now);
  static constexpr int kMailDeadlines = 3;

  // When to call due() and lost() again. Between two calls that are further
  // apart than an interval and a quarter of the deadline, this rank counts as
  // not running.
  Clock::TimePoint next(Clock::TimePoint now) const;

 private:
  struct Neighbour {
    int rank = 0;
    Clock::TimePoint heard_at;
    Clock::TimePoint mail_at;
  };
  // When the neighbor is lost unless it is heard.
  Clock::TimePoint lost_at(const Neighbour& neighbour) const {
    return std::min(neighbour.heard_at + deadline_,
                    neighbour.mail_at + kMailDeadlines * deadline_);
  }

  void look(Clock::TimePoint now);

  const Clock::Duration interval_;
  const Clock::Duration deadline_;
  const Clock::Duration longest_look_;
  std::vector<Neighbour> watched_;
  Clock::TimePoint looked_at_;
  Clock::TimePoint beat_at_;
};

}  // namespace hvd::runtime
