// SPDX-License-Identifier: Apache-2.0
// Metrics in Prometheus' text format, and over HTTP. prometheus-cpp does the
// work; a build without it answers Unimplemented.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/telemetry/metrics/metric.h"

namespace hvd::telemetry {

// Whether this build has prometheus-cpp.
bool has_prometheus();

// Series of one name follow each other.
absl::StatusOr<std::string> prometheus_text(const std::vector<Metric>& metrics);

// Answers requests for /metrics until it is destroyed.
class MetricsServer {
 public:
  virtual ~MetricsServer() = default;
};

// `collect` is called by threads of the server. The process ignores SIGPIPE from
// here on.
//   Unavailable  the address or the port cannot be used; names both
absl::StatusOr<std::unique_ptr<MetricsServer>> serve_metrics(
    const std::string& address, int port,
    std::function<std::vector<Metric>()> collect);

}  // namespace hvd::telemetry
