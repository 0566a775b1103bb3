// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/places.h"

#include <algorithm>
#include <cstddef>

namespace hvd::launcher {

Places places_of(const JobRecord& job, const std::vector<Host>& hosts) {
  Places places;
  for (const Host& host : hosts) places.free.push_back(host.slots);
  for (const bool waits : {false, true}) {
    for (std::size_t i = 0; i < job.ranks.size(); ++i) {
      const RankRecord& rank = job.ranks[i];
      if (!rank.stays() || rank.is_waiting_newcomer() != waits) continue;
      const auto host = std::find_if(
          hosts.begin(), hosts.end(),
          [&](const Host& one) { return one.name == rank.asked_host; });
      const auto at = static_cast<std::size_t>(host - hosts.begin());
      if (host != hosts.end() && places.free[at] > 0) {
        --places.free[at];
        ++places.taken;
      } else {
        places.displaced.push_back(static_cast<int>(i));
      }
    }
  }
  return places;
}

}  // namespace hvd::launcher
