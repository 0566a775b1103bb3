// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/stall_reporter.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace hvd::coordinator {
namespace {

// Names reported at a time, if many have waited too long.
constexpr std::size_t kMaxStalled = 4;

}  // namespace

std::vector<Stalled> StallReporter::report(std::vector<Waiting> waiting,
                                           Clock::TimePoint now) {
  std::sort(waiting.begin(), waiting.end(),
            [](const Waiting& a, const Waiting& b) {
              return std::tie(a.since, a.key) < std::tie(b.since, b.key);
            });
  const Clock::TimePoint oldest = waiting.front().since;
  std::vector<Stalled> stalled;
  for (std::size_t i = 0; i < std::min(kMaxStalled, waiting.size()); ++i) {
    const auto waited = now - waiting[i].since;
    if (waited < warning_) break;
    const auto ms =
        std::chrono::ceil<std::chrono::milliseconds>(waited).count();
    stalled.push_back({.key = waiting[i].key,
                       .waited_ms = static_cast<std::uint32_t>(ms),
                       .is_join = waiting[i].is_join,
                       .ranks = waiting[i].ranks});
  }
  Clock::TimePoint next = std::max(oldest, now - warning_) + warning_;
  if (next <= now) next = now + warning_;
  if (shutdown_.count() > 0 && oldest + shutdown_ > now) {
    next = std::min(next, oldest + shutdown_);
  }
  due_ = next;
  return stalled;
}

void StallReporter::describe_last(Clock::TimePoint now,
                                  RankState& state) const {
  state.last_name = last_name_;
  if (!last_at_) return;
  state.last_ms_ago = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now - *last_at_)
          .count());
}

}  // namespace hvd::coordinator
