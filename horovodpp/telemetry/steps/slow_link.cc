// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/slow_link.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "horovodpp/core/median.h"

namespace hvd::telemetry {
namespace {

using Ends = std::pair<int, int>;  // The lower rank first.

// The slower direction of each connection.
std::map<Ends, BusyLink> connections(std::span<const RankReport> reports) {
  std::map<Ends, BusyLink> found;
  for (const RankReport& one : reports) {
    for (const BusyLink& link : one.report.links) {
      const auto [at, is_new] =
          found.emplace(std::minmax(one.rank, link.to), link);
      if (!is_new && link.bytes_per_ms() < at->second.bytes_per_ms()) {
        at->second = link;
      }
    }
  }
  return found;
}

// Compares connections, of which `is_one` chooses some, with the others.
template <typename IsOne>
std::optional<SlowLink> compare(const std::map<Ends, BusyLink>& connections,
                                double passed_ms, IsOne is_one) {
  SlowLink found;
  double busy_ms = 0;
  std::vector<double> others;
  for (const auto& [ends, link] : connections) {
    if (!is_one(ends)) {
      others.push_back(link.bytes_per_ms());
      continue;
    }
    found.bytes_per_ms = std::max(found.bytes_per_ms, link.bytes_per_ms());
    busy_ms = std::max(busy_ms, link.busy_ms);
  }
  if (others.empty()) return std::nullopt;
  found.others_bytes_per_ms = median(std::move(others));
  const bool is_slow =
      found.bytes_per_ms <= kSlowRate * found.others_bytes_per_ms &&
      busy_ms >= std::max(kFewestBusyMs, kBusyPart * passed_ms);
  return is_slow ? std::optional(found) : std::nullopt;
}

}  // namespace

std::optional<SlowLink> slow_link(std::span<const RankReport> reports) {
  const std::map<Ends, BusyLink> all = connections(reports);
  const std::vector<float>& took = reports.front().report.took;
  const double passed_ms = std::accumulate(took.begin(), took.end(), 0.0);
  std::map<int, int> count;
  for (const auto& [ends, link] : all) {
    ++count[ends.first];
    ++count[ends.second];
  }
  for (const auto& [rank, connections_of_rank] : count) {
    if (connections_of_rank < 2) continue;
    auto found = compare(all, passed_ms, [&, rank = rank](const Ends& ends) {
      return ends.first == rank || ends.second == rank;
    });
    if (!found) continue;
    found->rank = rank;
    return found;
  }
  for (const auto& [one, link] : all) {
    auto found = compare(all, passed_ms, [&, one = one](const Ends& ends) {
      return ends == one;
    });
    if (!found) continue;
    found->rank = one.first;
    found->peer = one.second;
    return found;
  }
  return std::nullopt;
}

}  // namespace hvd::telemetry
