// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/sleep_limit.h"

#include <algorithm>

namespace hvd::runtime {
namespace {

// The longest sleep of an idle rank that looks after the wires.
constexpr std::chrono::milliseconds kIdleSleep(50);

}  // namespace

std::optional<Clock::Duration> sleep_limit(
    const WakeConditions& wake_conditions, Clock::TimePoint now) {
  std::optional<Clock::Duration> limit;
  const auto at_most = [&limit](Clock::Duration other) {
    other = std::max(other, Clock::Duration(0));
    limit = limit ? std::min(*limit, other) : other;
  };
  if (wake_conditions.progress_due_after)
    at_most(*wake_conditions.progress_due_after);
  if (wake_conditions.wakes_at > 1) at_most(kMaxUnseenTime);
  if (wake_conditions.several_nodes && wake_conditions.is_busy)
    at_most(kBusySleep);
  if (wake_conditions.several_nodes && wake_conditions.polls_network)
    at_most(kIdleSleep);
  if (wake_conditions.due) at_most(*wake_conditions.due - now);
  return limit;
}

}  // namespace hvd::runtime
