// SPDX-License-Identifier: Apache-2.0
// A Histogram counts observations by size. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/telemetry/metrics/metric.h"

namespace hvd::telemetry {

// The upper bounds of buckets, in seconds, numbers, and bytes.
extern const std::span<const double> kSecondsOfBatch;  // From 1 us to 30 s.
extern const std::span<const double> kSecondsOfStep;   // From 1 ms to 100 s.
extern const std::span<const double> kOperations;      // From 1 to 1,024.
extern const std::span<const double> kBytes;           // From 256 B to 1 GiB.

class Histogram {
 public:
  // `bounds` ascend, and outlive this object.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void observe(double value);

  double sum() const { return sum_; }
  // The last has an infinite bound.
  std::vector<MetricBucket> buckets() const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;  // One more: above the last bound.
  double sum_ = 0;
};

}  // namespace hvd::telemetry
