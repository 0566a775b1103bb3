// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/agent.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/command_line/hidden_streams.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/node/crash_library.h"
#include "horovodrun/node/node_settings.h"
#include "horovodrun/node/supervisor.h"
#include "horovodrun/output/rank_copy.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/output/report.h"
#include "horovodrun/system/abstract_socket.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/process_tree.h"
#include "horovodrun/system/signal_queue.h"
#include "horovodrun/system/usable_cores.h"

namespace hvd::launcher {
namespace {

const std::vector<int> kAgentSignals = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
                                        SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                                        SIGABRT, SIGCONT, SIGTSTP};

void print_settings(const Node& node, const Environment& settings) {
  const std::string prefix =
      absl::StrCat("horovodrun: host '", host_name(), "': ");
  std::string text =
      absl::StrCat(prefix, node.ranks, " ranks, ", node.cores, " cores\n");
  for (const std::string& setting : to_strings(settings)) {
    absl::StrAppend(&text, prefix, setting, "\n");
  }
  std::fputs(text.c_str(), stderr);
}

// The environment of the command: the agent's without its own variables, plus
// the engine's and the node's.
Environment command_environment(const Engine& engine,
                                const Engine::Place& place,
                                const Environment& present, bool verbose) {
  const Node node = {.ranks = place.local_size, .cores = usable_cores()};
  const Environment settings = node_settings(node, present);
  if (verbose && place.local_rank == 0) print_settings(node, settings);
  Environment environment = engine.variables_of_rank(present);
  environment.insert(present.begin(), present.end());
  for (const char* own :
       {kTokenVariable, kOutputVariable, kFilesVariable, kLogBytesVariable,
        kLogFilesVariable, kPrefixVariable, kShownRanksVariable,
        kRedirectsVariable, kDebugVariable}) {
    environment.erase(own);
  }
  environment.insert(settings.begin(), settings.end());
  return environment;
}

// Waits for the supervisor, and passes signals on to it. Reports when the starter
// begins to end this rank or has ended itself (kStopping), or another process
// begins to end it (kLeaving). False if the starter has ended before.
bool wait_for_supervisor(pid_t supervisor, const ParentWatch& parent,
                         const SignalQueue& signals,
                         const std::function<int(int)>& signal_for_command,
                         const std::function<void(Report::Kind)>& ending,
                         int* status) {
  while (waitpid(supervisor, status, WNOHANG) == 0) {
    if (parent.ended()) {
      ending(Report::Kind::kStopping);
      return false;
    }
    wait_for_signal(signals, parent);
    while (const auto arrival = signals.next()) {
      if (arrival->signal == SIGCHLD) continue;
      const int signal = signal_for_command(arrival->signal);
      const bool from_starter = arrival->sender == getppid();
      if (arrival->signal == SIGTERM) {
        ending(from_starter ? Report::Kind::kStopping : Report::Kind::kLeaving);
      }
      if (signal != 0) kill(supervisor, signal);
    }
  }
  return true;
}

// A slow reader gets all output, until the starter ends.
void finish_copy(RankCopy& copy, const ParentWatch& parent,
                 const SignalQueue& signals) {
  while (copy.is_running() && !parent.ended()) {
    wait_for_signal(signals, parent);
    while (signals.next()) {
    }
  }
  if (copy.is_running()) kill_descendants();
}

}  // namespace

int run_agent(const AgentOptions& options) {
  const ParentWatch parent(getppid());
  const Environment present = current_environment();
  const Engine* engine = engine_of_rank(present);
  if (engine == nullptr) {
    std::fputs(
        "horovodrun: --agent is not for users; write horovodrun -np N "
        "command\n",
        stderr);
    return 2;
  }
  const Engine::Place place = *engine->place(present);
  const int rank = place.rank;
  std::signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  const std::string token = value_in(present, kTokenVariable);
  std::string desk = value_in(present, kOutputVariable);
  // Hydra gives the launcher's variables to other hosts, too. The launcher
  // ignores the letter.
  if (!send_to_socket(desk, "?", {})) desk.clear();
  const SignalQueue signals(kAgentSignals);
  const int hidden = hidden_streams(present, place.local_rank);
  RankCopy copy =
      desk.empty() ? RankCopy({.folder = value_in(present, kFilesVariable),
                               .limits = log_limits(present),
                               .rank = rank,
                               .ranks = number_in(present, {"HOROVOD_SIZE"}, 1),
                               .prefix = parse_prefix_style(
                                   value_in(present, kPrefixVariable)),
                               .hides_output = (hidden & kHiddenOutput) != 0,
                               .hides_errors = (hidden & kHiddenErrors) != 0,
                               .terminal = engine->gives_terminal(),
                               .token = token})
                   : RankCopy();
  const Supervision supervision = {
      .engine = engine,
      .rank = rank,
      .parent = getpid(),
      .token = token,
      .desk = desk,
      .output = copy.output(),
      .errors = copy.errors(),
      .streams = {.terminal = engine->gives_terminal(),
                  .hides_output = (hidden & kHiddenOutput) != 0,
                  .hides_errors = (hidden & kHiddenErrors) != 0},
      .debugs_crashes = present.contains(kDebugVariable),
      .watches = present.contains(kWatchVariable),
      .command = options.command,
      .environment =
          command_environment(*engine, place, present, options.verbose)};
  const auto report = [&](Report::Kind kind, int pid, int value) {
    send_report({.kind = kind, .rank = rank, .pid = pid, .value = value},
                supervision.token);
  };
  report(Report::Kind::kStarted, getpid(), 0);

  const pid_t supervisor = fork();
  if (supervisor < 0) {
    report(Report::Kind::kNotExecuted, 0, errno);
    return 0;
  }
  if (supervisor == 0) {
    setpgid(0, 0);
    return supervise(supervision) ? 0 : 1;
  }
  copy.close();
  int status = 0;
  const auto signal_for_command = [&](int signal) {
    return engine->signal_for_command(signal, present);
  };
  const auto end_descendants = [&] {
    report_left_behind(rank, kill_descendants().left, supervision.token);
  };
  const auto ending = [&](Report::Kind kind) { report(kind, getpid(), 0); };
  if (!wait_for_supervisor(supervisor, parent, signals, signal_for_command,
                           ending, &status)) {
    // No other process is left to clean up here.
    end_descendants();
    engine->clean_up_after_rank(present);
    engine->clean_up_after_daemon(present);
    return 1;
  }
  if (WIFSIGNALED(status)) {
    end_descendants();
    engine->clean_up_after_rank(present);
    report(Report::Kind::kKilled, supervisor, WTERMSIG(status));
  }
  finish_copy(copy, parent, signals);
  if (status != 0) copy.report_last_lines();
  return 0;
}

}  // namespace hvd::launcher
