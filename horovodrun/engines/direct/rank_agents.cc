// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/rank_agents.h"

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

constexpr char kRank[] = "HOROVOD_RANK";
constexpr char kLocalRank[] = "HOROVOD_LOCAL_RANK";
constexpr char kLocalSize[] = "HOROVOD_LOCAL_SIZE";

}  // namespace

std::optional<Engine::Place> place_without_mpi(const Environment& environment) {
  const int rank = number_in(environment, {kRank}, -1);
  if (!environment.contains(kRendezvous) || rank < 0) return std::nullopt;
  return Engine::Place{.rank = rank,
                       .local_rank = number_in(environment, {kLocalRank}, 0),
                       .local_size = number_in(environment, {kLocalSize}, 1)};
}

Environment without_place(Environment environment) {
  if (!environment.contains(kRendezvous)) return environment;
  for (const char* name : {kRendezvous, kJobKey, kElastic, kNewcomer, kRank,
                           kLocalRank, kLocalSize, "HOROVODPP_LAUNCHER"}) {
    environment.erase(name);
  }
  return environment;
}

bool RankAgents::start(const Ranks& ranks) {
  for (int i = 0; i < ranks.count; ++i) {
    const int rank = ranks.first + i;
    Environment environment = ranks.environment;
    environment[kRank] = absl::StrCat(rank);
    if (ranks.are_newcomers) environment[kNewcomer] = "1";
    environment[kLocalRank] = absl::StrCat(started_++);
    environment[kLocalSize] =
        absl::StrCat(ranks.are_newcomers ? started_ : ranks.count);
    // In process groups of their own: the launcher passes on the terminal's
    // signals to this group.
    const Spawned spawned =
        spawn(ranks.agent, {.environment = std::move(environment),
                            .stdin_fd = rank == 0 ? ranks.input : -1,
                            .reads_nothing = rank != 0,
                            .own_group = true});
    if (spawned.error != 0) {
      std::fputs(absl::StrCat("horovodrun: host '", host_name(),
                              "' cannot start rank ", rank, ": ",
                              describe_start_error(spawned.error), "\n")
                     .c_str(),
                 stderr);
      return false;
    }
    agents_[spawned.pid] = rank;
  }
  return true;
}

void RankAgents::signal_all(int signal) const {
  for (const auto& [agent, rank] : agents_) kill(agent, signal);
}

void RankAgents::signal(int rank, int signal) const {
  for (const auto& [agent, of] : agents_) {
    if (of == rank) kill(agent, signal);
  }
}

std::vector<RankAgents::Ended> RankAgents::reap() {
  std::vector<Ended> others;
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (agents_.erase(ended) == 0) others.push_back({ended, status});
  }
  return others;
}

}  // namespace hvd::launcher
