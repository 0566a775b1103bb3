// SPDX-License-Identifier: Apache-2.0
// Prometheus' text format as OpenMetrics 1.0 text. prometheus-cpp writes only
// the former.
#pragma once

#include <string>
#include <string_view>

namespace hvd::telemetry {

// `text`: Prometheus' format 0.0.4, of metrics whose names end in their unit
// and, if they are counters, in "_total".
std::string open_metrics(std::string_view text);

}  // namespace hvd::telemetry
