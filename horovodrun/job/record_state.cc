// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/record_state.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

namespace hvd::launcher {

bool is_open_failure(const RankRecord& rank) {
  return rank.failed() && !rank.is_lost && !rank.is_waiting_newcomer();
}

bool any_failure(const JobRecord& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(),
                     [](const RankRecord& rank) {
                       return rank.failed() && !rank.is_waiting_newcomer();
                     });
}

bool all_have_started(const JobRecord& job) {
  return std::all_of(
      job.ranks.begin(), job.ranks.end(),
      [](const RankRecord& rank) { return rank.started || rank.is_newcomer; });
}

bool all_have_ended(const JobRecord& job) {
  std::set<std::string> silent_hosts;
  for (std::size_t by = 0; by < job.ranks.size(); ++by) {
    const RankRecord& rank = job.ranks[by];
    if (!rank.ended || !rank.broken ||
        rank.broken->failure != FailureKind::kSilentNode) {
      continue;
    }
    for (const RankStatus::Named& named : rank.broken->culprits) {
      const int culprit = rank_named(job, named, static_cast<int>(by));
      if (culprit < 0) continue;
      const auto& started =
          job.ranks[static_cast<std::size_t>(culprit)].started;
      if (started) silent_hosts.insert(started->host);
    }
  }
  return std::all_of(
      job.ranks.begin(), job.ranks.end(), [&](const RankRecord& rank) {
        return rank.ended || rank.agent_is_gone || rank.is_waiting_newcomer() ||
               (rank.started && silent_hosts.count(rank.started->host) > 0);
      });
}

bool waits_forever(const JobRecord& job) {
  const auto any = [&](const auto& test) {
    return std::any_of(job.ranks.begin(), job.ranks.end(), test);
  };
  return any([](const RankRecord& rank) {
           return rank.ended && !rank.was_connected && !rank.is_newcomer;
         }) &&
         any([](const RankRecord& rank) {
           return !rank.ended && rank.tells(RankStatus::Kind::kJoining);
         });
}

bool blames_others(const JobRecord& job, int rank) {
  const auto& broken = job.ranks[static_cast<std::size_t>(rank)].broken;
  return broken &&
         std::none_of(broken->culprits.begin(), broken->culprits.end(),
                      [&](const RankStatus::Named& named) {
                        return rank_named(job, named, rank) == rank;
                      });
}

bool only_blamed_are_left(const JobRecord& job) {
  std::set<int> blamed;
  for (int by = 0; by < static_cast<int>(job.ranks.size()); ++by) {
    const RankRecord& rank = job.ranks[static_cast<std::size_t>(by)];
    if (!rank.ended || !rank.broken) continue;
    for (const RankStatus::Named& named : rank.broken->culprits) {
      blamed.insert(rank_named(job, named, by));
    }
  }
  for (int i = 0; i < static_cast<int>(job.ranks.size()); ++i) {
    const RankRecord& rank = job.ranks[static_cast<std::size_t>(i)];
    if (rank.ended || rank.is_waiting_newcomer()) continue;
    if (blamed.count(i) == 0 || blames_others(job, i)) return false;
  }
  return true;
}

bool has_begun(const JobRecord& job) {
  return std::all_of(job.ranks.begin(), job.ranks.end(),
                     [](const RankRecord& rank) {
                       return rank.is_newcomer || rank.was_connected;
                     });
}

bool is_finishing(const JobRecord& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(),
                     [](const RankRecord& rank) {
                       return rank.ended && !rank.failed() &&
                              !rank.is_leaving && !rank.is_waiting_newcomer();
                     });
}

}  // namespace hvd::launcher
