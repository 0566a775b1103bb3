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

// Of an encoded link.
constexpr std::size_t kLinkBytes = sizeof(std::uint32_t) + 2 * sizeof(double);

bool is_link(const BusyLink& link) {
  return link.to >= 0 && is_time(link.bytes) && is_time(link.busy_ms) &&
         link.busy_ms > 0;
}

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
  data_ms += static_cast<double>(step.data) / kNanosecondsPerMs;
  snapshot_ms += static_cast<double>(step.snapshot) / kNanosecondsPerMs;
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
  writer.f64(report.data_ms);
  writer.f64(report.snapshot_ms);
  writer.u32(static_cast<std::uint32_t>(report.links.size()));
  for (const BusyLink& link : report.links) {
    writer.u32(static_cast<std::uint32_t>(link.to));
    writer.f64(link.bytes);
    writer.f64(link.busy_ms);
  }
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
  report.data_ms = reader.f64();
  report.snapshot_ms = reader.f64();
  report.links.resize(reader.count(kLinkBytes));
  for (BusyLink& link : report.links) {
    link = {.to = static_cast<int>(reader.u32()),
            .bytes = reader.f64(),
            .busy_ms = reader.f64()};
    if (!is_link(link)) reader.fail();
  }
  if (reader.finished() && steps > 0 && is_time(report.hidden_ms) &&
      is_time(report.data_ms) && is_time(report.snapshot_ms)) {
    return report;
  }
  return absl::InvalidArgumentError("these bytes are no report of steps");
}

}  // namespace hvd::telemetry
