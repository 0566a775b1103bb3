// SPDX-License-Identifier: Apache-2.0
// How long a rank may sleep on its doorbell before it looks again though nobody
// has rung.
//
// Pure: no clock, no thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "horovodpp/core/clock.h"

namespace hvd::runtime {

// How long a rank with work in flight sleeps where news may come from another
// node, which rings no bell.
inline constexpr std::chrono::microseconds kBusySleep(100);

// How long submissions that cannot matter yet lie unseen.
inline constexpr std::chrono::milliseconds kUnseen(10);

struct Outlook {
  bool several_nodes = false;
  // Also while nothing is in flight, as a node's leader does, and a rank that
  // has used them: where the receiver is slow the last of what was sent may need
  // this rank's help long after.
  bool looks_after_wires = false;
  bool is_busy = false;  // Something is in flight.
  // What was sent may need this rank's help to arrive, after so long.
  std::optional<Clock::Duration> helps_after = {};
  // Submissions that there have to be before they matter.
  std::int64_t wakes_at = 1;
  // When something has to be done by the clock.
  std::optional<Clock::TimePoint> due = {};
};

// Whether somebody rings for all there may be to look at.
inline bool rings_for_all(const Outlook& outlook) {
  return !outlook.several_nodes && !outlook.helps_after &&
         outlook.wakes_at <= 1 && !outlook.due;
}

// From `now` on; nullopt: until somebody rings.
std::optional<Clock::Duration> sleep_limit(const Outlook& outlook,
                                           Clock::TimePoint now);

}  // namespace hvd::runtime
