// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/link_meter.h"

#include <algorithm>
#include <utility>

namespace hvd::telemetry {

std::vector<BusyLink> LinkMeter::links(std::span<const LinkUse> uses) {
  constexpr double kMicrosecondsPerMs = 1e3;
  std::vector<BusyLink> links;
  for (const LinkUse& use : uses) {
    const LinkUse before = std::exchange(before_[use.to], use);
    const std::uint64_t bytes = use.bytes - before.bytes;
    const std::uint64_t busy = use.busy_microseconds - before.busy_microseconds;
    if (bytes < kFewestLinkBytes || busy == 0) continue;
    links.push_back(
        {.to = use.to,
         .bytes = static_cast<double>(bytes),
         .busy_ms = static_cast<double>(busy) / kMicrosecondsPerMs});
  }
  std::sort(links.begin(), links.end(),
            [](const BusyLink& a, const BusyLink& b) {
              return a.bytes_per_ms() < b.bytes_per_ms();
            });
  if (links.size() > kMostLinks) links.resize(kMostLinks);
  return links;
}

}  // namespace hvd::telemetry
