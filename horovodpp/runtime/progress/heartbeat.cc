// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/heartbeat.h"

#include <algorithm>
#include <utility>

namespace hvd::runtime {
namespace {

// When a link is back, the system may still wait for the other host's hardware
// address: it asks once a second (arp(7), retrans_time_ms).
constexpr Clock::Duration kAddressResolution = std::chrono::seconds(1);

}  // namespace

// Datagrams are read once per interval.
Heartbeats::Options Heartbeats::Options::for_outage(
    Clock::Duration outage, std::vector<int> neighbours) {
  const Clock::Duration interval = outage / (kOutageBeats + 1);
  return {.neighbours = std::move(neighbours),
          .interval = interval,
          .deadline = outage + interval + kAddressResolution};
}

// The first beat is due at once.
Heartbeats::Heartbeats(const Options& options, Clock::TimePoint now)
    : interval_(options.interval),
      deadline_(options.deadline),
      longest_look_(std::max(options.interval, options.deadline / 4)),
      looked_at_(now),
      beat_at_(now - options.interval) {
  for (int rank : options.neighbours) watched_.push_back({rank, now, now});
}

void Heartbeats::look(Clock::TimePoint now) {
  if (now - looked_at_ > longest_look_) {
    for (Neighbour& neighbour : watched_) {
      neighbour.heard_at = std::max(neighbour.heard_at, now);
      neighbour.mail_at = std::max(neighbour.mail_at, now);
    }
  }
  looked_at_ = std::max(looked_at_, now);
}

std::vector<int> Heartbeats::due(Clock::TimePoint now) {
  look(now);
  std::vector<int> ranks;
  if (now - beat_at_ < interval_) return ranks;
  beat_at_ = now;
  for (const Neighbour& neighbour : watched_) ranks.push_back(neighbour.rank);
  return ranks;
}

void Heartbeats::heard(int rank, Clock::TimePoint now) {
  for (Neighbour& neighbour : watched_) {
    if (neighbour.rank != rank) continue;
    neighbour.heard_at = std::max(neighbour.heard_at, now);
    neighbour.mail_at = std::max(neighbour.mail_at, now);
  }
}

void Heartbeats::alive(int rank, Clock::TimePoint now) {
  for (Neighbour& neighbour : watched_) {
    if (neighbour.rank != rank) continue;
    neighbour.heard_at = std::max(neighbour.heard_at, now);
  }
}

std::vector<int> Heartbeats::lost(Clock::TimePoint now) {
  look(now);
  std::vector<int> ranks;
  for (const Neighbour& neighbour : watched_) {
    if (now > lost_at(neighbour)) ranks.push_back(neighbour.rank);
  }
  std::erase_if(watched_, [&](const Neighbour& neighbour) {
    return now > lost_at(neighbour);
  });
  return ranks;
}

Clock::TimePoint Heartbeats::next(Clock::TimePoint now) const {
  if (watched_.empty()) return Clock::TimePoint::max();
  // Half of the limit, so that a slightly late call does not look like a
  // suspension.
  Clock::TimePoint then =
      std::min(looked_at_ + longest_look_ / 2, beat_at_ + interval_);
  for (const Neighbour& neighbour : watched_) {
    then = std::min(then, lost_at(neighbour) + Clock::Duration(1));
  }
  return std::max(then, now);
}

}  // namespace hvd::runtime
