// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/remote_host.h"

#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "horovodrun/engines/direct/host_ranks.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

// srun takes the words of a command, and others a line for a shell.
bool is_srun(const std::string& program) {
  return std::filesystem::path(program).filename() == "srun";
}

}  // namespace

absl::Status RemoteHost::start(const std::vector<std::string>& shell,
                               const HostOrder& order) {
  std::vector<std::string> argv = shell;
  argv.push_back(name_);
  const std::vector<std::string> command = {order.agent[0], kStartRanksOfHost};
  if (is_srun(shell[0])) {
    argv.insert(argv.end(), command.begin(), command.end());
  } else {
    argv.push_back(absl::StrCat("exec ", shell_quoted(command)));
  }
  const Spawned spawned = spawn(argv, {.environment = current_environment(),
                                       .stdin_fd = control_->reading_end(),
                                       .own_group = true,
                                       .death_signal = SIGTERM,
                                       .mask = signal_set({})});
  if (spawned.error != 0) {
    return absl::InternalError(
        absl::StrCat("cannot start ", argv[0], " to host '", name_,
                     "': ", describe_start_error(spawned.error)));
  }
  shell_ = spawned.pid;
  control_->close_reading_end();
  send({.kind = ControlMessage::Kind::kOrder, .order = order});
  return absl::OkStatus();
}

}  // namespace hvd::launcher
