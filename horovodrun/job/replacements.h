// SPDX-License-Identifier: Apache-2.0
// Replacements decides for an elastic job when newcomers start and where, and
// when the job cannot go on. Newcomers fill the job up to its largest number of
// ranks, and wait as spares beyond that.
//
// A newcomer goes to the host of a lost rank, else to the host with the most
// free slots. A host where ranks fail gets none for a while (host_back_off.h).
//
// No clock and no I/O. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/job/host_back_off.h"
#include "horovodrun/job/job_record.h"

namespace hvd::launcher {

class Replacements {
 public:
  // `hosts` have all of their slots; empty: this host, with the name "", which
  // takes any number of ranks. `seed` is of the times without newcomers.
  Replacements(const ElasticTerms& terms, std::vector<Host> hosts,
               std::uint32_t seed = 1);

  // The hosts have changed.
  void set_hosts(std::vector<Host> hosts) { hosts_ = std::move(hosts); }
  const std::vector<Host>& hosts() const { return hosts_; }

  // The hosts of newcomers to start now. The caller adds a record for each.
  std::vector<std::string> due(const JobRecord& job, Clock::TimePoint now);
  // Why the job cannot go on; "": it can.
  std::string end(const JobRecord& job, Clock::TimePoint now);
  // When to ask again without an event.
  Clock::TimePoint deadline() const;

 private:
  // Whether the end and the joining of a rank were counted.
  struct Counted {
    bool joined = false;
    bool ended = false;
  };

  void count_events(const JobRecord& job, Clock::TimePoint now);
  void count_end(const RankRecord& rank, Clock::TimePoint now);
  std::optional<std::size_t> next_host(const std::vector<int>& free,
                                       Clock::TimePoint now);

  const ElasticTerms terms_;
  std::vector<Host> hosts_;
  HostBackOff back_off_;
  std::vector<Counted> counted_;  // By rank.
  std::deque<std::string>
      vacated_;  // Hosts of lost ranks, the first lost first.
  Clock::TimePoint next_start_ = Clock::TimePoint::max();
  // Since when there are too few ranks.
  std::optional<Clock::TimePoint> too_few_since_;
};

}  // namespace hvd::launcher
