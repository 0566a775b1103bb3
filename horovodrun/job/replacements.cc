// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/replacements.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

bool is_alive(const RankRecord& rank) {
  return !rank.ended && !rank.agent_is_gone && !rank.is_lost;
}

int count(const JobRecord& job, bool (*test)(const RankRecord&)) {
  return static_cast<int>(
      std::count_if(job.ranks.begin(), job.ranks.end(), test));
}

// Every rank of the start has entered the job.
bool has_begun(const JobRecord& job) {
  return std::all_of(job.ranks.begin(), job.ranks.end(),
                     [](const RankRecord& rank) {
                       return rank.is_newcomer || rank.was_connected;
                     });
}

// Its ranks have begun to end well.
bool is_finishing(const JobRecord& job) {
  return std::any_of(
      job.ranks.begin(), job.ranks.end(), [](const RankRecord& rank) {
        return rank.ended && !rank.failed() && !rank.is_waiting_newcomer();
      });
}

}  // namespace

void Replacements::count_failures(const JobRecord& job, Clock::TimePoint now) {
  const auto failures =
      static_cast<std::size_t>(count(job, [](const RankRecord& rank) {
        return rank.is_waiting_newcomer() && rank.ended.has_value();
      }));
  const auto joined =
      static_cast<std::size_t>(count(job, [](const RankRecord& rank) {
        return rank.is_newcomer && rank.was_connected;
      }));
  if (joined > joined_) failures_in_a_row_ = 0;
  joined_ = joined;
  for (; failures_ < failures; ++failures_) {
    const int doublings = std::min(failures_in_a_row_++, 16);
    next_start_ = now + std::min(kFirstPause * (1 << doublings), kLongestPause);
  }
}

std::optional<std::size_t> Replacements::roomiest(const std::vector<int>& used,
                                                  const JobRecord& job) const {
  std::optional<std::size_t> best;
  int most = 0;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool is_lost = std::any_of(
        job.ranks.begin(), job.ranks.end(), [&](const RankRecord& rank) {
          return rank.host_is_lost() && rank.asked_host == hosts_[i].name;
        });
    const int room = hosts_[i].slots - used[i];
    if (is_lost || room <= most) continue;
    most = room;
    best = i;
  }
  return best;
}

std::vector<std::size_t> Replacements::due(const JobRecord& job,
                                           Clock::TimePoint now) {
  std::vector<std::size_t> starts;
  count_failures(job, now);
  if (job.signal != 0 || !has_begun(job) || is_finishing(job) ||
      now < next_start_) {
    return starts;
  }
  int missing = terms_.most + terms_.spares - count(job, is_alive);
  if (hosts_.empty()) {
    for (; missing > 0; --missing) starts.push_back(0);
    return starts;
  }
  std::vector<int> used(hosts_.size());
  for (const RankRecord& rank : job.ranks) {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (is_alive(rank) && rank.asked_host == hosts_[i].name) ++used[i];
    }
  }
  for (; missing > 0; --missing) {
    const auto host = roomiest(used, job);
    if (!host) break;
    ++used[*host];
    starts.push_back(*host);
  }
  return starts;
}

std::string Replacements::end(const JobRecord& job, Clock::TimePoint now) {
  if (!has_begun(job) || is_finishing(job) || job.signal != 0) return "";
  const int lost = count(job, [](const RankRecord& rank) {
    return rank.was_connected && rank.failed();
  });
  if (terms_.most_losses >= 0 && lost > terms_.most_losses) {
    return absl::StrCat("it has lost ", lost, " ranks, and --reset-limit is ",
                        terms_.most_losses);
  }
  const int members = count(job, [](const RankRecord& rank) {
    return is_alive(rank) && rank.was_connected;
  });
  if (members >= terms_.least) {
    too_few_since_.reset();
    return "";
  }
  if (!too_few_since_) too_few_since_ = now;
  if (now < *too_few_since_ + terms_.timeout) return "";
  return absl::StrCat("it has had fewer than ", terms_.least,
                      " ranks (--min-np) for ",
                      std::chrono::duration<double>(terms_.timeout).count(),
                      " s (--elastic-timeout)");
}

Clock::TimePoint Replacements::deadline() const {
  Clock::TimePoint deadline = Clock::TimePoint::max();
  if (failures_in_a_row_ > 0) deadline = next_start_;
  if (too_few_since_) {
    deadline = std::min(deadline, *too_few_since_ + terms_.timeout);
  }
  return deadline;
}

}  // namespace hvd::launcher
