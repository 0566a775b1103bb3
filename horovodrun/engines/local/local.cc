// SPDX-License-Identifier: Apache-2.0
// The engine local: ranks of this host, without MPI. Its starter is horovodrun
// itself, as `horovodrun --start-ranks N AGENT...`.
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/output/report.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/signal_queue.h"
#include "horovodrun/system/terminal_input.h"

namespace hvd::launcher {
namespace {

using std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr char kStartRanks[] = "--start-ranks";

// Ranks meet under this name, which marks a process as one of them.
constexpr char kRendezvous[] = "HOROVODPP_RENDEZVOUS";
constexpr char kRank[] = "HOROVOD_RANK";
constexpr char kLocalRank[] = "HOROVOD_LOCAL_RANK";
constexpr char kLocalSize[] = "HOROVOD_LOCAL_SIZE";

// The interval of polling for a terminal that may be read again.
constexpr std::chrono::milliseconds kAgentPollInterval{50};
// For ranks whose launcher was killed.
constexpr std::chrono::seconds kOrphanExitTimeout{1};
constexpr std::chrono::hours kLong{1};

constexpr int kTerminated = 128 + SIGTERM;

// Starts the agents and waits for them. An agent whose starter is gone ends its
// rank.
class RankStarter {
 public:
  // Returns how many were started.
  int start(int ranks, const Words& agent) {
    const Environment present = current_environment();
    const auto token = present.find(kTokenVariable);
    const std::string rendezvous = absl::StrCat(
        "horovodrun.", token == present.end() ? "" : token->second);
    for (int rank = 0; rank < ranks; ++rank) {
      Environment environment = {{kRendezvous, rendezvous},
                                 {kRank, absl::StrCat(rank)},
                                 {kLocalRank, absl::StrCat(rank)},
                                 {kLocalSize, absl::StrCat(ranks)}};
      environment.insert(present.begin(), present.end());
      // In process groups of their own: the launcher passes on the terminal's
      // signals to this group.
      const Spawned spawned =
          spawn(agent, {.environment = environment,
                        .stdin_fd = rank == 0 ? terminal_.reading_end() : -1,
                        .reads_nothing = rank != 0,
                        .own_group = true});
      if (spawned.error != 0) {
        std::fputs(absl::StrCat("horovodrun: cannot start rank ", rank, ": ",
                                describe_start_error(spawned.error), "\n")
                       .c_str(),
                   stderr);
        return rank;
      }
      agents_.insert(spawned.pid);
    }
    terminal_.close_reading_end();
    return ranks;
  }

  void end_agents() const {
    for (const pid_t agent : agents_) kill(agent, SIGTERM);
  }

  // Returns whether it was asked to end. A remaining agent ends its rank when
  // this process has ended.
  bool wait_for_agents() {
    bool was_asked = false;
    std::optional<steady_clock::time_point> latest;
    while (true) {
      reap();
      if (agents_.empty()) return was_asked;
      if (parent_.ended() && !latest) {
        was_asked = true;
        end_agents();
        latest = steady_clock::now() + kOrphanExitTimeout;
      }
      if (latest && steady_clock::now() >= *latest) return was_asked;
      wait_for_signal(
          signals_, parent_,
          {.longest =
               latest || terminal_.needs_polling() ? kAgentPollInterval : kLong,
           .readable = terminal_.awaited()});
      terminal_.pass_on();
      while (const auto arrival = signals_.next()) {
        if (arrival->signal == SIGCHLD) continue;
        was_asked = true;
        end_agents();
      }
    }
  }

 private:
  void reap() {
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      agents_.erase(ended);
    }
  }

  const ParentWatch parent_{getppid()};
  const SignalQueue signals_{{SIGCHLD, SIGTERM}};
  TerminalInput terminal_;
  std::set<pid_t> agents_;
};

// Returns 0, 1 if an agent could not be started, or kTerminated if it was asked
// to end.
int start_ranks(const Words& words) {
  int ranks = 0;
  if (words.size() < 2 || !absl::SimpleAtoi(words[0], &ranks) || ranks < 1) {
    return refuse_user(kStartRanks);
  }
  RankStarter starter;
  const bool all =
      starter.start(ranks, {words.begin() + 1, words.end()}) == ranks;
  if (!all) starter.end_agents();
  const bool was_asked = starter.wait_for_agents();
  if (!all) return 1;
  return was_asked ? kTerminated : 0;
}

class LocalEngine : public Engine {
 public:
  const char* name() const override { return "local"; }

  absl::StatusOr<StartPlan> plan(const Arguments& arguments,
                                 const LaunchContext& context) const override {
    const char* unsupported =
        !all_local(arguments.hosts, context.host_name) ? "other hosts"
        : !arguments.mpi_arguments.empty()      ? "--mpi-args or --binding-args"
        : !arguments.network_interfaces.empty() ? "--network-interface"
                                                : nullptr;
    if (unsupported != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("without MPI there is no ", unsupported,
                       ": leave it out, or start the ranks by mpirun (--mpi)"));
    }
    StartPlan plan = {
        .argv = {context.agent, kStartRanks, absl::StrCat(arguments.ranks)},
        .added = common_variables(arguments, context),
        .starter = "the process that starts the ranks"};
    const Words agent = agent_command(arguments, context);
    plan.argv.insert(plan.argv.end(), agent.begin(), agent.end());
    return plan;
  }

  std::optional<Place> place(const Environment& environment) const override {
    const int rank = number_in(environment, {kRank}, -1);
    if (!environment.contains(kRendezvous) || rank < 0) return std::nullopt;
    return Place{.rank = rank,
                 .local_rank = number_in(environment, {kLocalRank}, 0),
                 .local_size = number_in(environment, {kLocalSize}, 1)};
  }

  Environment without_rank(Environment environment) const override {
    if (!environment.contains(kRendezvous)) return environment;
    for (const char* name :
         {kRendezvous, kRank, kLocalRank, kLocalSize, "HOROVODPP_LAUNCHER"}) {
      environment.erase(name);
    }
    return environment;
  }

  bool gives_terminal() const override { return true; }

  std::vector<Subcommand> subcommands() const override {
    return {{kStartRanks, start_ranks}};
  }
};

}  // namespace

const Engine& local_engine() {
  static const LocalEngine engine;
  return engine;
}

}  // namespace hvd::launcher
