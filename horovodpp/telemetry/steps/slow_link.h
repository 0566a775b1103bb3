// SPDX-License-Identifier: Apache-2.0
// Finds a slow connection between hosts in the reports of all ranks about one
// interval of steps. It delays all ranks alike, and so it is found by its rate:
// the bytes over the time in which it was busy, compared with the others'.
//
// Both directions of a connection count as one: confirmations of the bytes in
// one direction queue behind the bytes in the other.
#pragma once

#include <optional>
#include <span>

#include "horovodpp/telemetry/steps/step_summary.h"

namespace hvd::telemetry {

// A slow connection has at most this part of the others' median rate,
inline constexpr double kSlowRate = 0.25;
// is busy for this part of the time, and for so long: the system counts in
// units of up to ten milliseconds.
inline constexpr double kBusyPart = 0.5;
inline constexpr double kFewestBusyMs = 500;

struct SlowLink {
  int rank = 0;
  // The other end; nullopt: all connections of `rank` are slow.
  std::optional<int> peer = {};
  double bytes_per_ms = 0;
  double others_bytes_per_ms = 0;

  bool is_same(const SlowLink& other) const {
    return rank == other.rank && peer == other.peer;
  }
};

// nullopt: no connection is slower than the others, or there are no others.
std::optional<SlowLink> slow_link(std::span<const RankReport> reports);

}  // namespace hvd::telemetry
