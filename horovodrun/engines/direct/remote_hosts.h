// SPDX-License-Identifier: Apache-2.0
// RemoteHosts are the other hosts of a job, as the starter sees them. In an
// elastic job hosts are added while the job runs, also one that was lost.
//
// For programs with one thread only.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodrun/engines/direct/control.h"
#include "horovodrun/engines/direct/remote_host.h"

namespace hvd::launcher {

class RemoteHosts {
 public:
  // `shell` is the remote shell, with its options.
  explicit RemoteHosts(const std::vector<std::string>& shell) : shell_(shell) {}

  // Starts the ranks of `order` on the host; connects to it if there is no
  // connection.
  //   Internal  the remote shell cannot be started, or there is none
  absl::Status start(const std::string& name, const HostOrder& order);

  bool any() const { return !hosts_.empty(); }
  void send_to_all(const ControlMessage& message);
  // Once in an interval, so that the hosts know that this process is alive.
  void ping();

  // The host whose remote shell `pid` has ended, and the exit code of the shell
  // or minus its signal.
  struct Lost {
    std::string name;
    int code = 0;
  };
  std::optional<Lost> shell_ended(pid_t pid, int wait_status);

  // The input of rank 0, where that runs on one of the hosts. "" ends it.
  bool has_reader() const { return reader_ != nullptr; }
  std::size_t unsent_input() const;
  void send_input(const std::string& bytes);

  void add_awaited(std::vector<pollfd>& fds) const;
  void write_some();

 private:
  const std::vector<std::string>& shell_;
  std::list<RemoteHost> hosts_;  // With a connection.
  RemoteHost* reader_ = nullptr;
  std::chrono::steady_clock::time_point next_ping_ =
      std::chrono::steady_clock::now() + kPingInterval;
};

}  // namespace hvd::launcher
