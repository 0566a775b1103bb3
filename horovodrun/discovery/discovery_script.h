// SPDX-License-Identifier: Apache-2.0
// A DiscoveryScript is the user's program that prints the hosts of an elastic
// job. It runs again a second after its last end, as a child of this process and
// without a shell.
//
//   DiscoveryScript script(discovery, now);
//   while (...) {
//     poll(...);                              // add_awaited(), deadline().
//     reap_children(-1, [&](pid_t pid, int status) {
//       script.child_ended(pid, status);
//     });
//     if (auto hosts = script.proceed(now)) use(*hosts);
//   }
//
// No call waits. For programs with one thread only.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/command_line/hosts.h"

namespace hvd::launcher {

class DiscoveryScript {
 public:
  static constexpr std::chrono::milliseconds kInterval{1000};
  // A run that takes longer is killed.
  static constexpr std::chrono::milliseconds kLongestRun{60000};

  DiscoveryScript(const Discovery& discovery, Clock::TimePoint first_run)
      : discovery_(discovery), next_run_(first_run) {}
  // Kills a run.
  ~DiscoveryScript() { end(); }
  DiscoveryScript(const DiscoveryScript&) = delete;
  DiscoveryScript& operator=(const DiscoveryScript&) = delete;

  // Starts a run that is due. Returns the hosts of a run that has ended.
  //   InvalidArgument   the run failed; names the script and the cause
  using Hosts = absl::StatusOr<std::vector<Host>>;
  std::optional<Hosts> proceed(Clock::TimePoint now);
  // A child of this process was reaped; `wait_status` is as waitpid gives it.
  void child_ended(pid_t pid, int wait_status);
  // Kills a run, and starts no other.
  void end();

  // The descriptors to wait for, and until when.
  void add_awaited(std::vector<pollfd>* fds) const;
  Clock::TimePoint deadline() const { return next_run_; }

 private:
  struct Stream {
    int fd = -1;
    std::string text{};
  };

  std::optional<Hosts> start(Clock::TimePoint now);
  Hosts outcome();
  absl::Status failure(const std::string& cause) const;
  void kill_run() const;
  void read_streams();
  void close_streams();

  const Discovery discovery_;
  // Of the next run; while one runs, the end of its time.
  Clock::TimePoint next_run_;
  pid_t run_ = -1;             // The process; -1: none runs.
  std::optional<int> status_;  // Of the run that has ended.
  bool took_too_long_ = false;
  Stream output_;
  Stream errors_;
};

}  // namespace hvd::launcher
