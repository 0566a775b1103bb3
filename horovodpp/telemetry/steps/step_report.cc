// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_report.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "horovodpp/core/memory/wire.h"

namespace hvd::telemetry {
namespace {

constexpr double kNanosecondsPerMs = 1e6;

float ms(std::uint64_t nanoseconds) {
  return static_cast<float>(static_cast<double>(nanoseconds) /
                            kNanosecondsPerMs);
}

bool is_time(double ms) { return std::isfinite(ms) && ms >= 0; }

void put(WireWriter& writer, const std::vector<float>& values) {
  for (const float value : values) {
    writer.u32(std::bit_cast<std::uint32_t>(value));
  }
}

std::vector<float> get(WireReader& reader, std::uint32_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = std::bit_cast<float>(reader.u32());
    if (!is_time(value)) reader.fail();
  }
  return values;
}

}  // namespace

void StepReport::add(const StepTimes& step) {
  took.push_back(ms(step.nanoseconds));
  waited.push_back(ms(step.waited));
  hidden_ms += static_cast<double>(step.hidden) / kNanosecondsPerMs;
  bytes += step.bytes;
  batches += step.batches;
}

std::string encode(const StepReport& report) {
  WireWriter writer;
  writer.u32(report.interval);
  writer.f64(report.hidden_ms);
  writer.u64(report.bytes);
  writer.u64(report.batches);
  writer.u32(static_cast<std::uint32_t>(report.steps()));
  put(writer, report.took);
  put(writer, report.waited);
  return writer.take();
}

absl::StatusOr<StepReport> decode_step_report(std::string_view bytes) {
  WireReader reader(bytes);
  StepReport report;
  report.interval = reader.u32();
  report.hidden_ms = reader.f64();
  report.bytes = reader.u64();
  report.batches = reader.u64();
  const std::uint32_t steps = reader.count(2 * sizeof(float));
  report.took = get(reader, steps);
  report.waited = get(reader, steps);
  if (reader.finished() && steps > 0 && is_time(report.hidden_ms)) {
    return report;
  }
  return absl::InvalidArgumentError("these bytes are no report of steps");
}

}  // namespace hvd::telemetry
