// SPDX-License-Identifier: Apache-2.0
// A StepReport is what a rank tells rank 0 about an interval of its steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/telemetry/steps/step_meter.h"

namespace hvd::telemetry {

struct BusyLink {
  int to = 0;
  double bytes = 0;
  double busy_ms = 0;

  double bytes_per_ms() const { return bytes / busy_ms; }
};

struct StepReport {
  std::uint32_t interval = 0;  // Counted from 0 in each job.
  // Of each step, in milliseconds.
  std::vector<float> took = {};
  std::vector<float> waited = {};
  // Of all steps.
  double hidden_ms = 0;
  std::uint64_t bytes = 0;
  std::uint64_t batches = 0;
  double data_ms = 0;
  double snapshot_ms = 0;
  // Connections to other hosts that carried much, the slowest first.
  std::vector<BusyLink> links = {};

  void add(const StepTimes& step);
  std::size_t steps() const { return took.size(); }
};

std::string encode(const StepReport& report);
//   InvalidArgument  the bytes are no report
absl::StatusOr<StepReport> decode_step_report(std::string_view bytes);

}  // namespace hvd::telemetry
