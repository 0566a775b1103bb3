// SPDX-License-Identifier: Apache-2.0
// A Metric is one series of a rank's metrics: a name, labels and a value, with
// the names and types of Prometheus.
//
//   for (const hvd::Metric& metric : *hvd::metrics()) {
//     if (metric.name == "horovodpp_steps_total") std::cout << metric.value;
//   }
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

enum class MetricType {
  kCounter,    // Only grows.
  kGauge,      // Rises and falls.
  kHistogram,  // Counts observations by size.
};

// How many observations were at most `bound`.
struct MetricBucket {
  double bound = 0;
  std::uint64_t count = 0;
};

struct Metric {
  std::string name;
  std::string help;  // A sentence.
  MetricType type = MetricType::kCounter;
  // Names and values; "rank" is the first.
  std::vector<std::pair<std::string, std::string>> labels = {};
  // Of a histogram, the sum of all observations.
  double value = 0;
  // Of a histogram. The bound of the last bucket is infinite.
  std::vector<MetricBucket> buckets = {};
};

}  // namespace hvd
