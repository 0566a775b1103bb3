// SPDX-License-Identifier: Apache-2.0
// Replacements decides for an elastic job when newcomers start and where, and
// when the job cannot go on. Newcomers fill the job up to its largest number of
// ranks, and wait as spares beyond that.
//
// A newcomer goes to the host with the most free slots, and never to a lost
// host. After a newcomer has failed before it joined the job, the next one
// starts later, up to a minute.
//
// No clock and no I/O. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/job/job_record.h"

namespace hvd::launcher {

class Replacements {
 public:
  // The first pause after a newcomer's failure, and the longest.
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{60000};

  // `hosts` are those of the start, with all of their slots; empty: this host,
  // which takes any number of ranks.
  Replacements(const ElasticTerms& terms, std::vector<Host> hosts)
      : terms_(terms), hosts_(std::move(hosts)) {}

  // The hosts of newcomers to start now, as positions in the hosts. The caller
  // adds a record for each.
  std::vector<std::size_t> due(const JobRecord& job, Clock::TimePoint now);
  // Why the job cannot go on; "": it can.
  std::string end(const JobRecord& job, Clock::TimePoint now);
  // When to ask again without an event.
  Clock::TimePoint deadline() const;

 private:
  void count_failures(const JobRecord& job, Clock::TimePoint now);
  std::optional<std::size_t> roomiest(const std::vector<int>& used,
                                      const JobRecord& job) const;

  const ElasticTerms terms_;
  const std::vector<Host> hosts_;
  std::size_t failures_ = 0;   // Newcomers that failed before they joined,
  int failures_in_a_row_ = 0;  // and since one has joined.
  std::size_t joined_ = 0;     // Newcomers that have joined.
  Clock::TimePoint next_start_{};
  // Since when there are too few ranks.
  std::optional<Clock::TimePoint> too_few_since_;
};

}  // namespace hvd::launcher
