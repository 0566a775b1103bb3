// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/departures.h"

#include <algorithm>
#include <csignal>
#include <cstddef>

#include "horovodrun/job/record_state.h"

namespace hvd::launcher {
namespace {

constexpr Clock::TimePoint kNoDeadline = Clock::TimePoint::max();

const RankRecord& record_of(const JobRecord& job, int rank) {
  return job.ranks[static_cast<std::size_t>(rank)];
}

}  // namespace

// The displaced member that keeps the job's state; -1: other members have it.
int Departures::keeper(const std::vector<int>& displaced, const JobRecord& job,
                       Clock::TimePoint now) {
  next_release_ = kNoDeadline;
  if (displaced.empty()) return -1;
  int first = -1;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankRecord& rank = job.ranks[i];
    if (!rank.stays() || !rank.was_connected) continue;
    const int number = static_cast<int>(i);
    const bool has_place = std::find(displaced.begin(), displaced.end(),
                                     number) == displaced.end();
    const Clock::TimePoint has_state =
        rank.is_newcomer ? rank.connected_at + leaving_time_ : now;
    if (has_place && now >= has_state) return -1;
    if (has_place) next_release_ = std::min(next_release_, has_state);
    if (!has_place && first < 0) first = number;
  }
  return first;
}

std::vector<Departures::Signal> Departures::due(
    const std::vector<int>& displaced, const JobRecord& job,
    Clock::TimePoint now) {
  std::vector<Signal> signals;
  if (job.signal != 0 || !has_begun(job)) return signals;
  const int kept = keeper(displaced, job, now);
  if (!is_finishing(job)) {
    for (const int rank : displaced) {
      if (rank == kept) continue;
      signals.push_back({rank, SIGTERM});
      kills_[rank] = now + leaving_time_;
    }
  }
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (!job.ranks[i].is_leaving) continue;
    kills_.try_emplace(static_cast<int>(i), now + leaving_time_);
  }
  for (auto& [rank, kill] : kills_) {
    const RankRecord& of = record_of(job, rank);
    if (of.ended || of.agent_is_gone) kill = kNoDeadline;
    if (now < kill) continue;
    kill = kNoDeadline;
    signals.push_back({rank, SIGKILL});
  }
  return signals;
}

Clock::TimePoint Departures::deadline() const {
  Clock::TimePoint deadline = next_release_;
  for (const auto& [rank, kill] : kills_) deadline = std::min(deadline, kill);
  return deadline;
}

}  // namespace hvd::launcher
