// SPDX-License-Identifier: Apache-2.0
// The limit of a rank's sleep on its doorbell: the time after which it looks
// again without a ring.
//
// Pure: no clock, no thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "horovodpp/core/thread/clock.h"

namespace hvd::runtime {

// The longest sleep of a rank with work in flight if news may come from another
// node, which rings no bell.
inline constexpr std::chrono::microseconds kBusySleep(100);

// The longest time that submissions stay unseen while they cannot matter yet.
inline constexpr std::chrono::milliseconds kMaxUnseenTime(10);

struct WakeConditions {
  bool several_nodes = false;
  // Whether to poll the wires also when idle. A node's leader does, and a rank
  // that has used them. With a slow receiver the last part of a send may need
  // this rank's help long after.
  bool polls_network = false;
  bool is_busy = false;  // Operations are in flight.
  // When sends may need this rank's help to arrive.
  std::optional<Clock::Duration> progress_due_after = {};
  // The number of submissions that matters.
  std::int64_t wakes_at = 1;
  // The next timed task.
  std::optional<Clock::TimePoint> due = {};
};

// Whether every event that matters rings the bell.
inline bool rings_for_all(const WakeConditions& wake_conditions) {
  return !wake_conditions.several_nodes &&
         !wake_conditions.progress_due_after && wake_conditions.wakes_at <= 1 &&
         !wake_conditions.due;
}

// From `now` on; nullopt: until a ring.
std::optional<Clock::Duration> sleep_limit(
    const WakeConditions& wake_conditions, Clock::TimePoint now);

}  // namespace hvd::runtime
