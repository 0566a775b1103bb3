// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/membership.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodrun/engines/rank_order.h"
#include "horovodrun/job/places.h"

namespace hvd::launcher {

Membership::Membership(const Arguments& arguments, Say say,
                       Clock::TimePoint now)
    : say_(std::move(say)),
      replacements_(arguments.elastic, arguments.room, std::random_device()()),
      departures_(arguments.elastic.leaving_time) {
  if (arguments.elastic.discovery.script.empty()) return;
  script_.emplace(arguments.elastic.discovery,
                  now + DiscoveryScript::kInterval);
}

// A script that names no host has hardly seen all of them go.
void Membership::discover(Clock::TimePoint now) {
  if (!script_) return;
  const auto outcome = script_->proceed(now);
  if (!outcome) return;
  const bool fails = !outcome->ok() || (*outcome)->empty();
  if (!fails) replacements_.set_hosts(**outcome);
  if (fails && !script_fails_) {
    say_(absl::StrCat(outcome->ok() ? "the discovery script names no host"
                                    : outcome->status().message(),
                      "; the job keeps its hosts"));
  }
  script_fails_ = fails;
}

void Membership::end_displaced(JobWatch& watch, Clock::TimePoint now) {
  const Places places = places_of(watch.record(), replacements_.hosts());
  for (const Departures::Signal& due :
       departures_.due(places.displaced, watch.record(), now)) {
    watch.dismiss(due.rank);
    orders_.add(to_line({.rank = due.rank, .signal = due.signal}));
  }
}

std::vector<int> Membership::start_newcomers(JobWatch& watch,
                                             Clock::TimePoint now) {
  std::vector<int> newcomers;
  for (const std::string& host : replacements_.due(watch.record(), now)) {
    newcomers.push_back(watch.add_newcomer(host));
    orders_.add(to_line({.rank = newcomers.back(), .host = host}));
  }
  return newcomers;
}

std::vector<int> Membership::proceed(JobWatch& watch, Clock::TimePoint now) {
  if (!watch.is_running()) {
    end();
    return {};
  }
  discover(now);
  const std::string end = replacements_.end(watch.record(), now);
  if (!end.empty()) {
    watch.cannot_go_on(end, now);
    return {};
  }
  end_displaced(watch, now);
  std::vector<int> newcomers = start_newcomers(watch, now);
  orders_.write_some();
  return newcomers;
}

void Membership::child_ended(pid_t pid, int wait_status) {
  if (script_) script_->child_ended(pid, wait_status);
}

void Membership::add_awaited(std::vector<pollfd>* fds) const {
  if (script_) script_->add_awaited(fds);
}

Clock::TimePoint Membership::deadline() const {
  if (is_over_) return Clock::TimePoint::max();
  const Clock::TimePoint deadline =
      std::min(replacements_.deadline(), departures_.deadline());
  return script_ ? std::min(deadline, script_->deadline()) : deadline;
}

void Membership::end() {
  is_over_ = true;
  if (script_) script_->end();
}

}  // namespace hvd::launcher
