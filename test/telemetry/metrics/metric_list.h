// SPDX-License-Identifier: Apache-2.0
// Looks metrics up by the texts of their series, without the rank:
// "horovodpp_steps_total", "horovodpp_operations_total allreduce shm". Reads
// files of metrics.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "horovodpp/telemetry/metrics/metric.h"

namespace hvd {

inline std::string series_of(const Metric& metric) {
  std::string text = metric.name;
  for (const auto& [name, value] : metric.labels) {
    if (name != "rank") text += " " + value;
  }
  return text;
}

inline const Metric& find_metric(const std::vector<Metric>& metrics,
                                 const std::string& series) {
  for (const Metric& metric : metrics) {
    if (series_of(metric) == series) return metric;
  }
  throw std::runtime_error("no metric is " + series);
}

inline double value_of(const std::vector<Metric>& metrics,
                       const std::string& series) {
  return find_metric(metrics, series).value;
}

// The number of a histogram's observations.
inline std::uint64_t count_of(const std::vector<Metric>& metrics,
                              const std::string& series) {
  return find_metric(metrics, series).buckets.back().count;
}

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace hvd
