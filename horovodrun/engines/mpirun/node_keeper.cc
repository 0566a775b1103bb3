// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/node_keeper.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/engines/mpirun/leftovers.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/process_tree.h"
#include "horovodrun/system/signal_queue.h"

namespace hvd::launcher {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long a daemon without ranks may take to end by itself; less if the
// connection is gone.
constexpr milliseconds kDaemonExitTimeout{5000};
constexpr milliseconds kDisconnectedExitTimeout{300};
constexpr milliseconds kKeeperDrainTimeout{1000};
// The exit code of ssh if a signal has ended its command.
constexpr int kSshFailure = 255;
constexpr milliseconds kKeeperPollInterval{1000};
constexpr milliseconds kDisconnectedPollInterval{50};
constexpr milliseconds kDrainPollInterval{5};
const std::vector<int> kKeeperSignals = {SIGCHLD, SIGINT, SIGTERM, SIGHUP,
                                         SIGQUIT};

// Creates a folder for the daemon's files, unless the user chooses one.
std::string make_folder(const std::string& command,
                        const Environment& environment) {
  const bool is_said =
      absl::StrContains(command, "tmpdir_base") ||
      std::any_of(environment.begin(), environment.end(), [](const auto& one) {
        return absl::EndsWith(one.first, "tmpdir_base");
      });
  if (is_said) return "";
  std::string path =
      absl::StrCat(mpirun_directory(environment), "/", kKeeperFolder, "XXXXXX");
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

class NodeKeeper {
 public:
  explicit NodeKeeper(const std::string& command)
      : command_(command), parent_(getppid()), signals_(kKeeperSignals) {}

  int run();

 private:
  bool start();
  void reap();
  void wait(milliseconds longest);
  bool is_unneeded();
  void end_all(bool at_once);

  const std::string& command_;
  const ParentWatch parent_;
  const SignalQueue signals_;
  std::string folder_;  // Empty: none.
  pid_t child_ = -1;
  std::optional<int> code_;  // The child's, once it has ended.
  bool had_ranks_ = false;
  std::optional<SteadyClock::time_point> no_ranks_since_;
};

bool NodeKeeper::start() {
  adopt_orphans();
  std::signal(SIGPIPE, SIG_IGN);
  Environment environment = current_environment();
  folder_ = make_folder(command_, environment);
  if (!folder_.empty()) environment["OMPI_MCA_orte_tmpdir_base"] = folder_;
  const auto shell = environment.find("SHELL");
  const Spawned spawned = spawn(
      {shell == environment.end() ? "/bin/sh" : shell->second, "-c", command_},
      // Agents remove the files of a daemon that was killed; after its own end
      // no process would remove the folder.
      {.environment = std::move(environment),
       .death_signal = SIGKILL,
       .mask = signal_set({})});
  child_ = spawned.pid;
  if (spawned.error != 0) code_ = spawned.error == ENOENT ? 127 : 126;
  return spawned.error == 0;
}

void NodeKeeper::reap() {
  if (const auto status = reap_children(child_)) {
    code_ = WIFSIGNALED(*status) ? kSshFailure : WEXITSTATUS(*status);
  }
}

void NodeKeeper::wait(milliseconds longest) {
  wait_for_signal(signals_, parent_, {.longest = longest});
  while (const auto arrival = signals_.next()) {
    if (arrival->signal != SIGCHLD) kill(child_, arrival->signal);
  }
}

// Whether its ranks have ended, and after that its time to end by itself.
bool NodeKeeper::is_unneeded() {
  const bool has_ranks = any_runs_this_program(descendants());
  had_ranks_ = had_ranks_ || has_ranks;
  const bool disconnected = parent_.ended();
  if (has_ranks || (!had_ranks_ && !disconnected)) {
    no_ranks_since_.reset();
    return false;
  }
  const auto now = SteadyClock::now();
  if (!no_ranks_since_) no_ranks_since_ = now;
  return now >= *no_ranks_since_ + (disconnected ? kDisconnectedExitTimeout
                                                 : kDaemonExitTimeout);
}

// Agents notice that their daemon has ended, and clean up themselves.
void NodeKeeper::end_all(bool at_once) {
  if (at_once) kill_descendants();
  const auto deadline = SteadyClock::now() + kKeeperDrainTimeout;
  while (!descendants().empty() && SteadyClock::now() < deadline) {
    wait(kDrainPollInterval);
    reap();
  }
  for (const pid_t pid : kill_descendants().left) {
    std::fputs(absl::StrCat("horovodrun: process ", pid, " on host '",
                            host_name(), "' is left behind: ", kKillIsNoEnd,
                            where_it_waits(pid), "\n")
                   .c_str(),
               stderr);
  }
}

int NodeKeeper::run() {
  if (!start()) return *code_;
  bool was_ended = false;
  while (reap(), !code_ && !was_ended) {
    was_ended = is_unneeded();
    if (!was_ended)
      wait(parent_.ended() ? kDisconnectedPollInterval : kKeeperPollInterval);
  }
  end_all(/*at_once=*/was_ended);
  if (!folder_.empty()) {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  // Ending it was not a failure: its ranks are known to have ended.
  return was_ended ? 0 : code_.value_or(0);
}

}  // namespace

std::string under_keeper(const std::string& program,
                         const std::string& command) {
  return absl::StrCat("exec ", shell_quoted({program, "--node", command}));
}

int run_node_keeper(const std::vector<std::string>& words) {
  if (words.size() != 1) return refuse_user("--node");
  return NodeKeeper(words[0]).run();
}

}  // namespace hvd::launcher
