// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/cycle_meter.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "horovodpp/coordinator/protocol/submission.h"

namespace hvd::coordinator {
namespace {

// A measurement has a number of 4 bytes for each operation.
constexpr std::size_t kMostOperations = 3500;

// The first step of a cycle is unusual: plans are made, and ranks catch up.
constexpr std::uint64_t kUnusual = 1;
// The pauses between measurements double from the first to the longest.
constexpr std::uint64_t kFirstPause = 5;
constexpr std::uint64_t kLongestPause = 1600;

}  // namespace

bool is_tunable(const std::vector<const Request*>& requests) {
  if (requests.size() < 2 || requests.size() > kMostOperations) return false;
  absl::flat_hash_set<const Request*> seen;
  return std::all_of(requests.begin(), requests.end(), [&](const Request* one) {
    return one->kind == RequestKind::kAllreduce && one->device.is_cpu() &&
           seen.insert(one).second;
  });
}

void CycleMeter::begin_cycle(std::uint64_t hash,
                             const std::vector<std::size_t>& batches,
                             bool measure) {
  is_on_ = measure && options_.steps > 0;
  if (!is_on_) return;
  hash_ = hash;
  first_.resize(batches.size());
  std::exclusive_scan(batches.begin(), batches.end(), first_.begin(),
                      std::size_t{0});
  operations_ = first_.back() + batches.back();
  values_ = operations_ + batches.size();
  pause_ = kFirstPause;
  interrupt();
  to_skip_ = 0;
  ends_.clear();
}

std::optional<Measured> CycleMeter::executed(const Batch& batch,
                                             std::uint64_t began,
                                             std::uint64_t ended) {
  if (!is_on_) return std::nullopt;
  const bool is_last = batch.place + 1 == first_.size();
  if (origin_ && to_skip_ == 0) {
    if (batch.place == 0) rows_.resize((ends_.size() + 1) * values_);
    std::uint64_t* const row = rows_.data() + ends_.size() * values_;
    const auto after_origin = [this](std::uint64_t ticks) {
      return ticks > *origin_ ? ticks - *origin_ : 0;
    };
    std::uint64_t* arrival = row + first_[batch.place];
    for (const Batch::Entry& entry : batch.entries) {
      const std::uint64_t pushed =
          entry.mine == nullptr ? 0 : entry.mine->pushed_at;
      // A call that is executed at once does not pass the queue.
      *arrival++ = after_origin(pushed == 0 ? began : std::min(pushed, began));
    }
    row[operations_ + batch.place] = after_origin(ended);
  }
  return is_last ? end_step(ended) : std::nullopt;
}

std::optional<Measured> CycleMeter::end_step(std::uint64_t now) {
  const auto began = std::exchange(origin_, now);
  if (!began) {
    to_skip_ = std::max(to_skip_, kUnusual) - 1;
    return std::nullopt;
  }
  if (to_skip_ > 0) {
    --to_skip_;
    return std::nullopt;
  }
  if (ends_.empty()) origins_.clear();
  origins_.push_back(*began);
  ends_.push_back(now);
  if (ends_.size() < static_cast<std::size_t>(options_.steps)) {
    return std::nullopt;
  }
  Measured found = summary();
  ends_.clear();
  to_skip_ = pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  return found;
}

// Means over the faster half of the steps: other programs delay the others.
Measured CycleMeter::summary() {
  const std::size_t steps = ends_.size();
  std::vector<std::size_t> by_time(steps);
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  const auto took = [this](std::size_t step) {
    return ends_[step] - origins_[step];
  };
  std::sort(by_time.begin(), by_time.end(),
            [&](std::size_t a, std::size_t b) { return took(a) < took(b); });
  const std::size_t used = (steps + 1) / 2;
  const double units = options_.seconds_per_tick() / kSecondsPerUnit;
  const auto as_units = [units](double ticks) {
    constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::min(ticks * units, kMost));
  };
  std::vector<double> sums(values_, 0);
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint64_t* const row = rows_.data() + by_time[i] * values_;
    for (std::size_t k = 0; k < values_; ++k) {
      sums[k] += static_cast<double>(row[k]);
    }
  }
  Measured found{
      .number = ++number_,
      .cycle = hash_,
      .step = as_units(static_cast<double>(took(by_time[steps / 2]))),
      .spread = as_units(static_cast<double>(took(by_time[3 * steps / 4]) -
                                             took(by_time[steps / 4])))};
  for (std::size_t k = 0; k < values_; ++k) {
    auto& values = k < operations_ ? found.arrivals : found.ends;
    values.push_back(as_units(sums[k] / static_cast<double>(used)));
  }
  return found;
}

}  // namespace hvd::coordinator
