// SPDX-License-Identifier: Apache-2.0
// Membership changes the ranks of an elastic job while it runs. It learns the
// hosts from the discovery script, if there is one, and gives the starter orders
// (engines/rank_order.h): to start newcomers, and to end ranks that leave.
//
// No call waits. For programs with one thread only.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/discovery/discovery_script.h"
#include "horovodrun/job/departures.h"
#include "horovodrun/job/job_watch.h"
#include "horovodrun/job/replacements.h"
#include "horovodrun/pipes/pipe_writer.h"

namespace hvd::launcher {

class Membership {
 public:
  // Shows a line to the user.
  using Say = std::function<void(const std::string& line)>;
  Membership(const Arguments& arguments, Say say, Clock::TimePoint now);

  // The pipe of the orders, whose reading end is the starter's.
  PipeWriter& orders() { return orders_; }

  // Does what is due, and records it in `watch`. Returns the newcomers.
  std::vector<int> proceed(JobWatch& watch, Clock::TimePoint now);
  // As in DiscoveryScript.
  void child_ended(pid_t pid, int wait_status);
  void add_awaited(std::vector<pollfd>* fds) const;
  // When to call proceed() without an event.
  Clock::TimePoint deadline() const;
  // The job ends: kills the script. proceed() does so, too.
  void end();

 private:
  void discover(Clock::TimePoint now);
  void end_displaced(JobWatch& watch, Clock::TimePoint now);
  std::vector<int> start_newcomers(JobWatch& watch, Clock::TimePoint now);

  const Say say_;
  Replacements replacements_;
  Departures departures_;
  PipeWriter orders_;
  std::optional<DiscoveryScript> script_;
  bool script_fails_ = false;  // As the user was told.
  bool is_over_ = false;
};

}  // namespace hvd::launcher
