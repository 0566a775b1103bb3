// SPDX-License-Identifier: Apache-2.0
// A LinkMeter measures a rank's connections to other hosts: what each has
// carried since the last look. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "horovodpp/core/job/link_use.h"
#include "horovodpp/telemetry/steps/step_report.h"

namespace hvd::telemetry {

// The rate of fewer bytes depends on the delay of the connection.
inline constexpr std::uint64_t kFewestLinkBytes = 1'000'000;
// Of a report.
inline constexpr std::size_t kMostLinks = 8;

class LinkMeter {
 public:
  // Connections that have carried enough, the slowest first.
  std::vector<BusyLink> links(std::span<const LinkUse> uses);

 private:
  std::map<int, LinkUse> before_;
};

}  // namespace hvd::telemetry
