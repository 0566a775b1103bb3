// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/clock_offset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

// Clocks of two hosts drift apart by some 10 us in a second.
constexpr double kIntervalUs = 10e6;

constexpr std::string_view kNegotiate = "NEGOTIATE_";
constexpr std::array<std::string_view, 5> kDependOnAllRanks = {
    "ALLREDUCE", "ALLGATHER", "ALLTOALL", "REDUCESCATTER", "BARRIER"};

bool depends_on_all_ranks(std::string_view name) {
  return std::find(kDependOnAllRanks.begin(), kDependOnAllRanks.end(), name) !=
         kDependOnAllRanks.end();
}

// Numbers begin anew in each epoch.
std::uint64_t number_of_batch(std::string_view element, double sequence) {
  const double epoch = number_of(element, R"("epoch": )").value_or(1);
  return static_cast<std::uint64_t>(epoch) << 32 |
         static_cast<std::uint64_t>(sequence);
}

struct Bounds {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  double first = std::numeric_limits<double>::infinity();
  double last = -std::numeric_limits<double>::infinity();
};

}  // namespace

// A number that comes again, in a job of the survivors, tells nothing.
Batches batches_of(TimelineElements& elements) {
  Batches batches;
  absl::flat_hash_set<std::uint64_t> repeated;
  absl::flat_hash_map<std::string, double> submissions;  // By lane.
  while (const auto element = elements.next()) {
    const auto name = string_member(*element, R"("name": )");
    const auto at = number_of(*element, R"("ts": )");
    const auto pid = number_of(*element, R"("pid": )");
    if (!name || !at || !pid) continue;
    const std::string lane =
        absl::StrCat(*pid, " ", number_of(*element, R"("tid": )").value_or(0));
    if (string_member(*element, R"("ph": )") == "B") {
      if (name->substr(0, kNegotiate.size()) == kNegotiate) {
        submissions[lane] = *at;
      }
      continue;
    }
    const auto sequence = number_of(*element, R"("batch": )");
    const auto submitted = submissions.find(lane);
    if (!sequence || submitted == submissions.end()) continue;
    const BatchTimes times = {submitted->second, *at};
    submissions.erase(submitted);
    if (!depends_on_all_ranks(*name)) continue;
    const std::uint64_t number = number_of_batch(*element, *sequence);
    const auto entry = batches.try_emplace(number, times).first;
    BatchTimes& known = entry->second;
    // The entries of one batch end together.
    if (std::abs(known.end - times.end) > 1) repeated.insert(number);
    known.submitted = std::max(known.submitted, times.submitted);
  }
  for (const std::uint64_t number : repeated) batches.erase(number);
  return batches;
}

ClockOffset ClockOffset::constant(double offset_us, Source source,
                                  double error_us) {
  ClockOffset offset;
  offset.points_ = {{0, offset_us}};
  offset.source_ = source;
  offset.error_us_ = error_us;
  return offset;
}

ClockOffset ClockOffset::of_batches(const Batches& reference,
                                    const Batches& other,
                                    const ClockOffset& otherwise) {
  std::map<std::int64_t, Bounds> intervals;
  for (const auto& [number, theirs] : other) {
    const auto found = reference.find(number);
    if (found == reference.end()) continue;
    const BatchTimes& ours = found->second;
    Bounds& bounds =
        intervals[static_cast<std::int64_t>(theirs.end / kIntervalUs)];
    bounds.lower = std::max(bounds.lower, ours.submitted - theirs.end);
    bounds.upper = std::min(bounds.upper, ours.end - theirs.submitted);
    bounds.first = std::min(bounds.first, theirs.end);
    bounds.last = std::max(bounds.last, theirs.end);
  }
  if (intervals.empty()) return otherwise;
  ClockOffset offset;
  offset.source_ = Source::kBatches;
  for (const auto& [number, bounds] : intervals) {
    offset.points_.push_back(
        {(bounds.first + bounds.last) / 2, (bounds.lower + bounds.upper) / 2});
    // With a drift within the interval the bounds may have crossed.
    offset.error_us_ =
        std::max(offset.error_us_, std::abs(bounds.upper - bounds.lower) / 2);
  }
  return offset;
}

double ClockOffset::at(double time_us) const {
  const auto later =
      std::find_if(points_.begin(), points_.end(),
                   [&](const Point& point) { return point.at >= time_us; });
  if (later == points_.begin()) return points_.front().offset;
  if (later == points_.end()) return points_.back().offset;
  const Point& earlier = *(later - 1);
  const double share = (time_us - earlier.at) / (later->at - earlier.at);
  return earlier.offset + share * (later->offset - earlier.offset);
}

const char* ClockOffset::source() const {
  switch (source_) {
    case Source::kSameClock:
      return "same clock";
    case Source::kBatches:
      return "batches";
    case Source::kWallClock:
      return "wall clock";
  }
  return "";
}

}  // namespace hvd::launcher
