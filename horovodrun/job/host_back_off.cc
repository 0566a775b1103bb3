// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/host_back_off.h"

#include <algorithm>

namespace hvd::launcher {
namespace {

constexpr int kMostDoublings = 16;

}  // namespace

Clock::Duration HostBackOff::pause(int earlier_failures) {
  std::chrono::milliseconds pause =
      cooldown_.shortest * (1 << std::min(earlier_failures, kMostDoublings));
  // Hosts that failed together need not come back together.
  if (cooldown_.after_any_failure) {
    using Count = std::chrono::milliseconds::rep;
    pause += std::chrono::milliseconds(std::uniform_int_distribution<Count>(
        0, cooldown_.shortest.count())(random_));
  }
  return std::min(pause, cooldown_.longest);
}

void HostBackOff::failed(const std::string& host, Clock::TimePoint now) {
  Failures& failures = hosts_[host];
  if (now < failures.until) return;
  if (now >= failures.until + cooldown_.longest) failures.count = 0;
  failures.until = now + pause(failures.count++);
}

bool HostBackOff::allows(const std::string& host, Clock::TimePoint now) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() || now >= found->second.until;
}

Clock::TimePoint HostBackOff::next_end(Clock::TimePoint now) const {
  Clock::TimePoint next = Clock::TimePoint::max();
  for (const auto& [host, failures] : hosts_) {
    if (failures.until > now) next = std::min(next, failures.until);
  }
  return next;
}

}  // namespace hvd::launcher
