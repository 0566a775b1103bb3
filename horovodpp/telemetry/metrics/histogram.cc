// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/histogram.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace hvd::telemetry {
namespace {

constexpr std::array kBatchBounds = {1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4,
                                     1e-3, 3e-3, 0.01, 0.03, 0.1,  0.3,
                                     1.0,  3.0,  10.0, 30.0};
constexpr std::array kStepBounds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                    0.1,   0.2,   0.5,   1.0,  2.0,  5.0,
                                    10.0,  20.0,  50.0,  100.0};
constexpr std::array kOperationBounds = {1.0,  2.0,   4.0,   8.0,   16.0,  32.0,
                                         64.0, 128.0, 256.0, 512.0, 1024.0};
constexpr std::array kByteBounds = {
    256.0,     1024.0,    4096.0,     16384.0,    65536.0,     262144.0,
    1048576.0, 4194304.0, 16777216.0, 67108864.0, 268435456.0, 1073741824.0};

}  // namespace

const std::span<const double> kSecondsOfBatch = kBatchBounds;
const std::span<const double> kSecondsOfStep = kStepBounds;
const std::span<const double> kOperations = kOperationBounds;
const std::span<const double> kBytes = kByteBounds;

void Histogram::observe(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  ++counts_[static_cast<std::size_t>(at - bounds_.begin())];
  sum_ += value;
}

std::vector<MetricBucket> Histogram::buckets() const {
  std::vector<MetricBucket> buckets;
  buckets.reserve(counts_.size());
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i];
    buckets.push_back({i < bounds_.size()
                           ? bounds_[i]
                           : std::numeric_limits<double>::infinity(),
                       count});
  }
  return buckets;
}

}  // namespace hvd::telemetry
