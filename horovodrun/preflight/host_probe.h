// SPDX-License-Identifier: Apache-2.0
// A HostProbe is a dialog with another host before the job. ssh runs
// `horovodrun --describe-host` there (describe_host.h), which writes the host's
// facts, reads targets, and writes the reached targets.
//
// No call waits. Not thread-safe.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/preflight/dialog.h"
#include "horovodrun/preflight/host_facts.h"
#include "horovodrun/preflight/probe_end.h"
#include "horovodrun/preflight/reach.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The command that runs `command` on `host` by the program `shell` and its
// options: {"ssh", "-x"}.
std::vector<std::string> command_at(const std::vector<std::string>& shell,
                                    const std::string& host,
                                    const std::vector<std::string>& command);

class HostProbe {
 public:
  // `command` is horovodrun's there, its path first; see command_at().
  HostProbe(std::string host, const std::vector<std::string>& shell,
            const std::vector<std::string>& command,
            const Environment& environment);
  const std::string& host() const { return end_.host; }

  void advance();
  void add_awaited(std::vector<pollfd>* fds) const { dialog_.add_awaited(fds); }

  // Complete, or nullptr.
  const HostFacts* facts() const { return has_facts_ ? &facts_ : nullptr; }
  // Microseconds by which the host's clock was ahead when the facts came.
  std::int64_t clock_skew() const { return clock_skew_; }
  // Asks which targets the host reaches.
  void send_targets(const std::vector<ReachTarget>& targets);
  // Their places in the list; nullopt: no answer yet.
  const std::optional<std::vector<std::size_t>>& reached() const {
    return reached_;
  }
  // Whether it has ended without the facts, and how.
  bool failed() const { return has_ended() && !has_facts_; }
  bool has_ended() const { return dialog_.has_ended(); }
  const ProbeEnd& end() const { return end_; }

 private:
  void take_line(absl::string_view line);

  ProbeEnd end_;
  Dialog dialog_;
  HostFacts facts_;
  bool has_facts_ = false;
  std::int64_t clock_skew_ = 0;
  std::vector<std::size_t> reaching_;
  std::optional<std::vector<std::size_t>> reached_;
};

}  // namespace hvd::launcher
