// SPDX-License-Identifier: Apache-2.0
// An Engine starts the ranks of a job: mpirun, or horovodrun itself. It plans a
// program, the starter, that starts an agent (agent.h) for each rank and runs
// until the agents have ended. Beside a rank, the agent asks the engine about
// the rank.
//
// An engine has no state. Its folder has its class; registry.cc lists it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/output/stderr_filter.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

class Engine;

// The process and the machine that the launcher runs on.
struct LaunchContext {
  std::string agent{};        // Path of horovodrun, equal on all hosts.
  std::string token{};        // The agents mark their reports with it.
  std::string host_name{};    // This host's.
  bool root = false;          // Whether the user is root.
  bool has_loopback = false;  // Whether there is an interface 'lo'.
  // By which all hosts reach each other, as "10.0.0.0/24"; empty: unknown, or
  // no choice.
  std::vector<std::string> networks{};
  Environment environment{};
};

// How to start, signal and show a job.
struct StartPlan {
  std::vector<std::string> argv{};  // The starter. SIGTERM must end it.
  Environment added{};              // To the context's environment.
  std::string starter = "mpirun";   // Its name in messages.
  // The starter acts on most signals itself. For the ranks' sake the launcher
  // sends it what Engine::disguise() returns.
  bool disguises_signals = false;
  // The launcher itself reads the output of this host's ranks. Otherwise the
  // starter does more with it than show it.
  bool reads_ranks = true;
  // The program, with its options, by which the starter connects to other hosts
  // of the job; empty: it needs none.
  std::vector<std::string> remote_shell{};
  bool takes_networks = false;  // Whether LaunchContext::networks matter to it.
  // The ranks of a host end with the remote shell that connects to it.
  bool hosts_need_connections = false;
  // Lines of the starter that say less than horovodrun's last line.
  std::span<const NoisePattern> noise{};
  const Engine* engine = nullptr;  // Set by plan_start().
};

class Engine {
 public:
  struct Place {
    int rank = 0;
    int local_rank = 0;  // Among the job's ranks of the host.
    int local_size = 1;
  };
  // `horovodrun NAME WORDS...`, which a process of the engine runs.
  struct Subcommand {
    const char* name;
    std::function<int(const std::vector<std::string>& words)> run;
  };

  virtual ~Engine() = default;
  virtual const char* name() const = 0;

  // In the launcher:

  // Plans the start of the job, which changes nothing.
  //   NotFound             the engine is not installed; names a remedy
  //   FailedPrecondition   it cannot be used here
  //   InvalidArgument      it cannot honor an option, or the hosts; names both
  virtual absl::StatusOr<StartPlan> plan(
      const Arguments& arguments, const LaunchContext& context) const = 0;
  // Removes the files of a starter that was killed. `environment` is the one
  // it was started with.
  virtual void clean_up_after_starter(
      pid_t /*starter*/, const Environment& /*environment*/) const {}

  // The signal that the starter, which disguises signals, gets for one of the
  // launcher's.
  virtual int disguise(int signal) const;

  // Beside a rank, by the environment of its agent:

  // nullopt if the engine has not started the process.
  virtual std::optional<Place> place(const Environment& environment) const = 0;
  // Variables that the command gets besides the agent's.
  virtual Environment variables_of_rank(
      const Environment& /*environment*/) const {
    return {};
  }
  // The environment without the variables of a rank of the engine, so that a
  // rank can start a job of its own.
  virtual Environment without_rank(Environment environment) const = 0;
  // The signal that the command gets for an agent's; 0: none. By default the
  // inverse of disguised_signal().
  virtual int signal_for_command(int signal,
                                 const Environment& environment) const;
  // Whether ranks write to a terminal wherever the launcher runs.
  virtual bool gives_terminal() const { return false; }
  // Remove files of a rank that has ended, and of the daemon that has started
  // it and has ended, too.
  virtual void clean_up_after_rank(const Environment& /*environment*/) const {}
  virtual void clean_up_after_daemon(const Environment& /*environment*/) const {
  }

  virtual std::vector<Subcommand> subcommands() const { return {}; }
};

// Starters handle some signals themselves and pass others on to agents:
// SIGALRM stands for SIGINT, and SIGABRT for SIGTERM, SIGHUP and SIGQUIT.
int disguised_signal(int signal);

// For plans: the variables that every engine gives to ranks, options' included,
// and the command that starts an agent.
Environment common_variables(const Arguments& arguments,
                             const LaunchContext& context);
std::vector<std::string> agent_command(const Arguments& arguments,
                                       const LaunchContext& context);

// The registry (registry.cc):

// All engines, in the order in which plan_start() tries them.
const std::vector<const Engine*>& engines();

// The plan of the engine that `arguments` name, or of the first installed
// engine that can run the job. An installed engine that cannot is an error.
absl::StatusOr<StartPlan> plan_start(const Arguments& arguments,
                                     const LaunchContext& context);
// The engine that has started the rank with this environment; null: none.
const Engine* engine_of_rank(const Environment& environment);
// A rank's environment without the variables that mark it as a rank. Any other
// environment is unchanged.
Environment outside_of_jobs(Environment environment);
// The exit code of the subcommand `words`; nullopt if they are none.
std::optional<int> run_subcommand(const std::vector<std::string>& words);
// Says that users do not call the subcommand; returns the exit code.
int refuse_user(const char* subcommand);

}  // namespace hvd::launcher
