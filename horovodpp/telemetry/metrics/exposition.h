// SPDX-License-Identifier: Apache-2.0
// Metrics as text: in Prometheus' format 0.0.4, or in OpenMetrics 1.0.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/telemetry/metrics/metric.h"

namespace hvd::telemetry {

enum class TextFormat { kPrometheus, kOpenMetrics };

// `metrics`: series of one name follow each other; names end in their unit and,
// if they are counters, in "_total".
std::string exposition(const std::vector<Metric>& metrics, TextFormat format);

}  // namespace hvd::telemetry
