// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/agent.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <initializer_list>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/host_name.h"
#include "horovodrun/engines/local/rank_starter.h"
#include "horovodrun/engines/mpirun/leftovers.h"
#include "horovodrun/node/node_settings.h"
#include "horovodrun/node/send_report.h"
#include "horovodrun/node/supervisor.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/signal_queue.h"

namespace hvd::launcher {
namespace {

const std::vector<int> kAgentSignals = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
                                        SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                                        SIGABRT, SIGCONT, SIGTSTP};

int number_in(const Environment& environment,
              std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names) {
    const auto found = environment.find(name);
    int number = 0;
    if (found != environment.end() &&
        absl::SimpleAtoi(found->second, &number)) {
      return number;
    }
  }
  return fallback;
}

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

// The environment of the command: mpirun's without the agent's own variables,
// plus the node's settings.
Environment command_environment(const Environment& present, bool verbose) {
  const Node node = {
      .ranks = number_in(present,
                         {"HOROVOD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                          "MPI_LOCALNRANKS"},
                         1),
      .cores = usable_cores()};
  const Environment settings = node_settings(node, present);
  const int local_rank = number_in(
      present,
      {"HOROVOD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"},
      0);
  if (verbose && local_rank == 0) print_settings(node, settings);
  Environment environment = present;
  environment.erase(kTokenVariable);
  environment.erase(kOutputVariable);
  environment.insert(settings.begin(), settings.end());
  return environment;
}

// The signal that the command gets for an agent's; 0: none.
int meaning_of(int signal, bool under_hydra) {
  if (signal == SIGCHLD) return 0;
  // Hydra announces a peer's end by SIGUSR1, which would kill most programs.
  if (signal == SIGUSR1 && under_hydra) return 0;
  if (signal == SIGALRM) return SIGINT;
  if (signal == SIGABRT) return SIGTERM;
  return signal;
}

// Waits for the supervisor, and passes signals on to it. Calls `stopping` when
// mpirun's daemon begins to end this rank, or has ended itself. False if the
// daemon has ended before.
bool wait_for_supervisor(pid_t supervisor, const ParentWatch& parent,
                         const SignalQueue& signals, bool under_hydra,
                         const std::function<void()>& stopping, int* status) {
  while (waitpid(supervisor, status, WNOHANG) == 0) {
    if (parent.ended()) {
      stopping();
      return false;
    }
    wait_for_signal(signals, parent);
    while (const auto arrival = signals.next()) {
      const int signal = meaning_of(arrival->signal, under_hydra);
      const bool from_daemon = arrival->sender == getppid();
      if (arrival->signal == SIGTERM && from_daemon) stopping();
      if (signal != 0) kill(supervisor, signal);
    }
  }
  return true;
}

}  // namespace

int signal_through_mpirun(int signal) {
  if (signal == SIGUSR1 || signal == SIGUSR2) return signal;
  return signal == SIGINT ? SIGALRM : SIGABRT;
}

int run_agent(const AgentOptions& options) {
  const ParentWatch parent(getppid());
  const Environment present = current_environment();
  const int rank =
      is_in_local_job(present)
          ? number_in(present, {"HOROVOD_RANK"}, -1)
          : number_in(present,
                      {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, -1);
  if (rank < 0) {
    std::fputs(
        "horovodrun: --agent is not for users; write horovodrun -np N "
        "command\n",
        stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  const auto value_of = [&](const char* name) {
    const auto found = present.find(name);
    return found == present.end() ? "" : found->second;
  };
  const Supervision supervision = {
      .rank = rank,
      .parent = getpid(),
      .token = value_of(kTokenVariable),
      .desk = value_of(kOutputVariable),
      .terminal = is_in_local_job(present),
      .command = options.command,
      .environment = command_environment(present, options.verbose)};
  const auto report = [&](Report::Kind kind, int pid, int value) {
    send_report({.kind = kind, .rank = rank, .pid = pid, .value = value},
                supervision.token);
  };
  const SignalQueue signals(kAgentSignals);
  report(Report::Kind::kStarted, getpid(), 0);

  const pid_t supervisor = fork();
  if (supervisor < 0) {
    report(Report::Kind::kNotExecuted, 0, errno);
    return 0;
  }
  if (supervisor == 0) {
    setpgid(0, 0);
    supervise(supervision);
    return 0;
  }
  int status = 0;
  const bool under_hydra = present.contains("HYDI_CONTROL_FD");
  const auto end_descendants = [&] {
    report_left_behind(rank, kill_descendants().left, supervision.token);
  };
  const auto stopping = [&] { report(Report::Kind::kStopping, getpid(), 0); };
  if (!wait_for_supervisor(supervisor, parent, signals, under_hydra, stopping,
                           &status)) {
    // No other process is left to clean up here.
    end_descendants();
    remove_mpi_leftovers(present);
    remove_daemon_leftovers(present);
    return 1;
  }
  if (WIFSIGNALED(status)) {
    end_descendants();
    remove_mpi_leftovers(present);
    report(Report::Kind::kKilled, supervisor, WTERMSIG(status));
  }
  return 0;
}

}  // namespace hvd::launcher
