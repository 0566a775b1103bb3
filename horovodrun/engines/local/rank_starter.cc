// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/local/rank_starter.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "horovodrun/output/report.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/signal_queue.h"
#include "horovodrun/system/terminal_input.h"

namespace hvd::launcher {
namespace {

constexpr char kRendezvous[] = "HOROVODPP_RENDEZVOUS";
constexpr const char* kOfRank[] = {"HOROVOD_RANK", "HOROVOD_LOCAL_RANK",
                                   "HOROVOD_LOCAL_SIZE"};

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{50};
// For ranks whose launcher was killed.
constexpr std::chrono::seconds kGrace{1};
constexpr std::chrono::hours kLong{1};

constexpr int kToldToEnd = 128 + SIGTERM;

class RankStarter {
 public:
  // Returns how many were started.
  int start(int ranks, const std::vector<std::string>& agent) {
    const Environment present = current_environment();
    const auto token = present.find(kTokenVariable);
    const LocalJob job = {.ranks = ranks,
                          .token = token == present.end() ? "" : token->second};
    for (int rank = 0; rank < ranks; ++rank) {
      Environment environment = local_rank_environment(job, rank);
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

  // Returns whether it was told to end. A remaining agent ends its rank when
  // this process has ended.
  bool wait_for_agents() {
    bool told = false;
    std::optional<steady_clock::time_point> latest;
    while (true) {
      reap();
      if (agents_.empty()) return told;
      if (parent_.ended() && !latest) {
        told = true;
        end_agents();
        latest = steady_clock::now() + kGrace;
      }
      if (latest && steady_clock::now() >= *latest) return told;
      wait_for_signal(
          signals_, parent_,
          {.longest = latest || terminal_.looks_again() ? kBetweenLooks : kLong,
           .readable = terminal_.awaited()});
      terminal_.hand_on();
      while (const auto arrival = signals_.next()) {
        if (arrival->signal == SIGCHLD) continue;
        told = true;
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

}  // namespace

Environment local_rank_environment(const LocalJob& job, int rank) {
  return {{kRendezvous, absl::StrCat("horovodrun.", job.token)},
          {"HOROVOD_RANK", absl::StrCat(rank)},
          {"HOROVOD_LOCAL_RANK", absl::StrCat(rank)},
          {"HOROVOD_LOCAL_SIZE", absl::StrCat(job.ranks)}};
}

bool is_in_local_job(const Environment& environment) {
  return environment.contains(kRendezvous);
}

Environment without_local_rank(Environment environment) {
  if (!is_in_local_job(environment)) return environment;
  environment.erase(kRendezvous);
  for (const char* name : kOfRank) environment.erase(name);
  return environment;
}

int run_rank_starter(int ranks, const std::vector<std::string>& agent) {
  RankStarter starter;
  const bool all = starter.start(ranks, agent) == ranks;
  if (!all) starter.end_agents();
  const bool told = starter.wait_for_agents();
  if (!all) return 1;
  return told ? kToldToEnd : 0;
}

}  // namespace hvd::launcher
