// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/replacements.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodrun/job/places.h"
#include "horovodrun/job/record_state.h"

namespace hvd::launcher {
namespace {

int count(const JobRecord& job, bool (*test)(const RankRecord&)) {
  return static_cast<int>(
      std::count_if(job.ranks.begin(), job.ranks.end(), test));
}

}  // namespace

Replacements::Replacements(const ElasticTerms& terms, std::vector<Host> hosts,
                           std::uint32_t seed)
    : terms_(terms), hosts_(std::move(hosts)), back_off_(terms.cooldown, seed) {
  if (hosts_.empty()) hosts_ = {{"", std::numeric_limits<int>::max()}};
}

void Replacements::count_events(const JobRecord& job, Clock::TimePoint now) {
  counted_.resize(job.ranks.size());
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankRecord& rank = job.ranks[i];
    const bool has_joined = rank.is_newcomer && rank.was_connected;
    if (has_joined && !counted_[i].joined) {
      counted_[i].joined = true;
      if (!terms_.cooldown.after_any_failure) back_off_.forget(rank.asked_host);
    }
    if (rank.ended && !counted_[i].ended) {
      counted_[i].ended = true;
      count_end(rank, now);
    }
  }
}

void Replacements::count_end(const RankRecord& rank, Clock::TimePoint now) {
  if (rank.left_as_planned()) return;
  if (rank.is_waiting_newcomer()) {
    back_off_.failed(rank.asked_host, now);
    return;
  }
  if (!rank.failed()) return;
  vacated_.push_back(rank.asked_host);
  if (terms_.cooldown.after_any_failure || rank.host_is_lost()) {
    back_off_.failed(rank.asked_host, now);
  }
}

std::optional<std::size_t> Replacements::next_host(const std::vector<int>& free,
                                                   Clock::TimePoint now) {
  const auto takes_one = [&](std::size_t i) {
    return free[i] > 0 && back_off_.allows(hosts_[i].name, now);
  };
  while (!vacated_.empty()) {
    const std::string name = vacated_.front();
    vacated_.pop_front();
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (hosts_[i].name == name && takes_one(i)) return i;
    }
  }
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (takes_one(i) && (!best || free[i] > free[*best])) best = i;
  }
  return best;
}

std::vector<std::string> Replacements::due(const JobRecord& job,
                                           Clock::TimePoint now) {
  std::vector<std::string> starts;
  count_events(job, now);
  next_start_ = back_off_.next_end(now);
  if (job.signal != 0 || !has_begun(job) || is_finishing(job)) return starts;
  Places places = places_of(job, hosts_);
  for (int missing = terms_.most + terms_.spares - places.taken; missing > 0;
       --missing) {
    const auto host = next_host(places.free, now);
    if (!host) return starts;
    --places.free[*host];
    starts.push_back(hosts_[*host].name);
  }
  vacated_.clear();
  return starts;
}

std::string Replacements::end(const JobRecord& job, Clock::TimePoint now) {
  if (!has_begun(job) || is_finishing(job) || job.signal != 0) return "";
  const int lost = count(job, [](const RankRecord& rank) {
    return rank.was_connected && rank.failed() && !rank.left_as_planned();
  });
  if (terms_.most_losses >= 0 && lost > terms_.most_losses) {
    return absl::StrCat("it has lost ", lost, " ranks, and --reset-limit is ",
                        terms_.most_losses);
  }
  const int members = count(job, [](const RankRecord& rank) {
    return rank.runs() && rank.was_connected;
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
  if (!too_few_since_) return next_start_;
  return std::min(next_start_, *too_few_since_ + terms_.timeout);
}

}  // namespace hvd::launcher
