// SPDX-License-Identifier: Apache-2.0
// A HostBackOff keeps newcomers of an elastic job away from hosts where ranks
// fail: for a time that doubles with each failure.
//
// No clock and no I/O. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/command_line/arguments.h"

namespace hvd::launcher {

class HostBackOff {
 public:
  // `seed` is of the random part of the times.
  HostBackOff(const Cooldown& cooldown, std::uint32_t seed)
      : cooldown_(cooldown), random_(seed) {}

  // A rank has failed on the host. Ignored during a cooldown there: ranks of a
  // host often fail together. A host that had no failure for the longest time
  // since its last cooldown starts with the shortest again.
  void failed(const std::string& host, Clock::TimePoint now);
  // Forgets the failures of the host.
  void forget(const std::string& host) { hosts_.erase(host); }

  bool allows(const std::string& host, Clock::TimePoint now) const;
  // When the next cooldown ends; max: none runs.
  Clock::TimePoint next_end(Clock::TimePoint now) const;

 private:
  struct Failures {
    int count = 0;
    Clock::TimePoint until{};
  };
  Clock::Duration pause(int earlier_failures);

  const Cooldown cooldown_;
  std::map<std::string, Failures> hosts_;
  std::minstd_rand random_;
};

}  // namespace hvd::launcher
