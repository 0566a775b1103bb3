// SPDX-License-Identifier: Apache-2.0
// Heartbeats between ranks that see nothing of each other but messages: each
// tells its neighbours every now and then that it is there, and takes one that
// stays silent for too long for lost. Silence proves nothing: whoever is
// reported here is suspected, no more.
//
//   Heartbeats beats({.neighbours = {0, 8}}, now);
//   for (int rank : beats.due(now)) send_beat(rank);
//   beats.heard(from, now);                     // On any message of `from`.
//   for (int rank : beats.lost(now)) suspect(rank);
//   sleep_until(beats.next(now));
//
// A rank that did not run itself for a while (stopped, swapped out, busy) has
// not listened either, and accuses nobody: it begins to count anew. So ranks
// that are suspended together lose nobody.
//
// Pure: no clock, no thread; `now` does not go back.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "horovodpp/core/clock.h"

namespace hvd::runtime {

class Heartbeats {
 public:
  struct Options {
    std::vector<int> neighbours = {};
    // Between two beats to a neighbour: a link that was away for a deadline less an
    // interval has lost nobody.
    Clock::Duration interval = std::chrono::seconds(1);
    // How long a neighbour may be silent; several intervals.
    Clock::Duration deadline = std::chrono::seconds(4);
  };

  Heartbeats(const Options& options, Clock::TimePoint now);

  // Whom to send a beat now: all neighbours, once per interval.
  std::vector<int> due(Clock::TimePoint now);

  // Mail has come from `rank`, whatever it was. Others than neighbours are ignored.
  void heard(int rank, Clock::TimePoint now);
  // A sign of life has come by another way. While such come mail may be later, by as
  // much as TCP takes after a link was away.
  void alive(int rank, Clock::TimePoint now);

  // The neighbours that have now been silent for longer than the deadline, or sent no
  // mail for kMailDeadlines of them. Each is named once, and not watched any more.
  std::vector<int> lost(Clock::TimePoint now);
  static constexpr int kMailDeadlines = 3;

  // When to call due() and lost() again; two looks that are further apart than
  // an interval, and a quarter of the deadline, count as a time in which this rank did
  // not run.
  Clock::TimePoint next(Clock::TimePoint now) const;

 private:
  struct Neighbour {
    int rank = 0;
    Clock::TimePoint heard_at;
    Clock::TimePoint mail_at;
  };
  // When it is lost unless something comes.
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
