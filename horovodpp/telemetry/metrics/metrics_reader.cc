// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/metrics_reader.h"

#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::telemetry {

absl::StatusOr<std::unique_ptr<MetricsReader>> MetricsReader::start(
    std::shared_ptr<TraceFollower> follower, const Place& place) {
  std::unique_ptr<MetricsReader> reader(
      new MetricsReader(std::move(follower), place));
  HVD_RETURN_IF_ERROR(reader->follower_->add(*reader));
  return reader;
}

MetricsReader::MetricsReader(std::shared_ptr<TraceFollower> follower,
                             const Place& place)
    : metrics_(
          {.rank = place.rank,
           .size = place.size,
           .name = [this](std::uint32_t name) { return follower_->name(name); },
           .nanoseconds =
               [this](std::uint64_t ticks) {
                 return follower_->nanoseconds(ticks);
               }}),
      follower_(std::move(follower)) {}

std::vector<Metric> MetricsReader::snapshot() {
  follower_->flush();
  MutexLock lock(mutex_);
  return metrics_.snapshot();
}

void MetricsReader::read(const trace::Event& event,
                         const Operations& operations) {
  MutexLock lock(mutex_);
  metrics_.add(event, operations);
}

void MetricsReader::missed(std::uint64_t count, const Operations&) {
  MutexLock lock(mutex_);
  metrics_.missed(count);
}

}  // namespace hvd::telemetry
