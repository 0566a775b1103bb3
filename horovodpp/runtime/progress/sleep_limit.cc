// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/sleep_limit.h"

#include <algorithm>

namespace hvd::runtime {
namespace {

// The longest sleep of an idle rank that looks after the wires.
constexpr std::chrono::milliseconds kIdleSleep(50);

}  // namespace

std::optional<Clock::Duration> sleep_limit(const Outlook& outlook,
                                           Clock::TimePoint now) {
  std::optional<Clock::Duration> limit;
  const auto at_most = [&limit](Clock::Duration other) {
    other = std::max(other, Clock::Duration(0));
    limit = limit ? std::min(*limit, other) : other;
  };
  if (outlook.helps_after) at_most(*outlook.helps_after);
  if (outlook.wakes_at > 1) at_most(kUnseen);
  if (outlook.several_nodes && outlook.is_busy) at_most(kBusySleep);
  if (outlook.several_nodes && outlook.looks_after_wires) at_most(kIdleSleep);
  if (outlook.due) at_most(*outlook.due - now);
  return limit;
}

}  // namespace hvd::runtime
