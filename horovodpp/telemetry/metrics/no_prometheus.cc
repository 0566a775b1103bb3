// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/exposition.h"

namespace hvd::telemetry {
namespace {

absl::Status absent() {
  return absl::UnimplementedError(
      "this build of horovodpp has no prometheus-cpp; install it (on Debian: "
      "prometheus-cpp-dev) and build again");
}

}  // namespace

bool has_prometheus() { return false; }

absl::StatusOr<std::string> prometheus_text(
    const std::vector<Metric>& /*metrics*/) {
  return absent();
}

absl::StatusOr<std::unique_ptr<MetricsServer>> serve_metrics(
    const std::string& /*address*/, int /*port*/,
    std::function<std::vector<Metric>()> /*collect*/) {
  return absent();
}

}  // namespace hvd::telemetry
