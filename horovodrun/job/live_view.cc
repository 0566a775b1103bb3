// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/live_view.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

using State = WatchedRank::State;

// A shorter wait is part of every step.
constexpr std::int64_t kShownWaitMs = 1000;

double seconds(Clock::Duration time) {
  return std::chrono::duration<double>(time).count();
}

State state_of(const RankRecord& record) {
  if (record.ended) return State::kEnded;
  if (!record.started) return State::kStarting;
  if (!record.news) return State::kRunning;
  switch (record.news->kind) {
    case RankStatus::Kind::kJoining:
    case RankStatus::Kind::kReforming:
      return State::kJoining;
    default:
      return State::kInJob;
  }
}

std::string end_of(const Report& end) {
  switch (end.kind) {
    case Report::Kind::kKilled:
      return absl::StrCat("signal ", end.value);
    case Report::Kind::kNotExecuted:
      return "not executed";
    case Report::Kind::kHostLost:
      return "host lost";
    default:
      return absl::StrCat("code ", end.value);
  }
}

}  // namespace

void LiveView::arrived(const Report& report, Clock::TimePoint now) {
  const auto activity = parse_rank_activity(report.text);
  if (!activity || static_cast<std::size_t>(report.rank) >= ranks_.size()) {
    return;
  }
  Seen& seen = ranks_[static_cast<std::size_t>(report.rank)];
  const double passed = seconds(now - seen.at);
  if (seen.activity && passed > 0) {
    // Processes that have ended do not count any more.
    const std::int64_t cpu_ms =
        activity->usage.cpu_ms - seen.activity->usage.cpu_ms;
    seen.cpu =
        static_cast<double>(std::max<std::int64_t>(cpu_ms, 0)) / 10 / passed;
    if (activity->progress && seen.activity->progress) {
      // A job of survivors begins at 0 again.
      seen.rate = static_cast<double>(std::max<std::int64_t>(
                      activity->progress->collectives -
                          seen.activity->progress->collectives,
                      0)) /
                  passed;
    }
  }
  seen.activity = activity;
  seen.at = now;
}

WatchedRank LiveView::watched(const RankRecord& record,
                              const Seen& seen) const {
  WatchedRank rank = {.state = state_of(record), .host = record.asked_host};
  if (record.started) rank.host = record.started->host;
  if (record.ended) {
    rank.end = end_of(*record.ended);
    rank.has_failed = record.failed();
    return rank;
  }
  if (!seen.activity) return rank;
  rank.rate = seen.rate;
  rank.cpu = seen.cpu;
  rank.resident_kib = seen.activity->usage.resident_kib;
  const auto& progress = seen.activity->progress;
  if (!progress) return rank;
  rank.collective = progress->last;
  if (rank.state != State::kInJob || progress->waiting_ms < kShownWaitMs) {
    return rank;
  }
  rank.state = State::kWaiting;
  rank.collective = progress->waiting;
  rank.waiting_s = static_cast<double>(progress->waiting_ms) / 1000;
  return rank;
}

// A rank is missing if it is not known to wait for the same collective.
std::vector<WatchedRank> LiveView::ranks(const JobRecord& job) const {
  std::vector<WatchedRank> all;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    all.push_back(watched(job.ranks[i], ranks_[i]));
  }
  std::map<std::string, std::vector<int>> missing_from;
  for (WatchedRank& rank : all) {
    if (rank.state != State::kWaiting) continue;
    const auto [entry, is_new] = missing_from.try_emplace(rank.collective);
    for (std::size_t i = 0; is_new && i < all.size(); ++i) {
      const auto& activity = ranks_[i].activity;
      const bool waits_too = activity && activity->progress &&
                             activity->progress->waiting == rank.collective;
      if (!waits_too && !job.ranks[i].is_lost) {
        entry->second.push_back(static_cast<int>(i));
      }
    }
    rank.missing = entry->second;
  }
  return all;
}

std::optional<std::vector<std::string>> LiveView::block(const JobRecord& job,
                                                        const WatchSize& size,
                                                        Clock::TimePoint now) {
  if (now < next_) return std::nullopt;
  next_ = now + kInterval;
  ranks_.resize(std::max(ranks_.size(), job.ranks.size()));
  return watch_block(ranks(job), seconds(now - begin_), size);
}

}  // namespace hvd::launcher
