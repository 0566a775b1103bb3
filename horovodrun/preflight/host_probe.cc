// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/host_probe.h"

#include <filesystem>
#include <utility>

#include "horovodrun/preflight/describe_host.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {

std::vector<std::string> command_at(const std::vector<std::string>& shell,
                                    const std::string& host,
                                    const std::vector<std::string>& command) {
  std::vector<std::string> argv = shell;
  argv.push_back(host);
  argv.push_back(shell_quoted(command));
  return argv;
}

HostProbe::HostProbe(std::string host, const std::vector<std::string>& shell,
                     const std::vector<std::string>& command,
                     const Environment& environment)
    : end_({.host = std::move(host),
            .shell = std::filesystem::path(shell[0]).filename(),
            .program = command[0]}),
      dialog_(command_at(shell, end_.host, command), environment) {}

void HostProbe::take_line(absl::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line == kFactsEnd) {
    if (has_facts_) {
      reached_ = std::move(reaching_);
    } else if (facts_.clock != 0) {
      clock_skew_ = facts_.clock - clock_now();
    }
    has_facts_ = true;
  } else if (!has_facts_) {
    read_line(line, &facts_);
  } else if (const auto target = parse_reached(line)) {
    reaching_.push_back(*target);
  }
}

void HostProbe::advance() {
  for (const std::string& line : dialog_.advance()) take_line(line);
  end_.code = dialog_.code();
  end_.errors = dialog_.errors();
}

void HostProbe::send_targets(const std::vector<ReachTarget>& targets) {
  dialog_.send(target_lines(targets));
}

}  // namespace hvd::launcher
