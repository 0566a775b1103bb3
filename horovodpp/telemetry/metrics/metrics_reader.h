// SPDX-License-Identifier: Apache-2.0
// A MetricsReader counts a rank's events. It reads the rank's trace by a
// TraceFollower, so that the rank does not wait for it. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/telemetry/metrics/job_metrics.h"
#include "horovodpp/telemetry/metrics/metric.h"
#include "horovodpp/telemetry/trace/trace_follower.h"

namespace hvd::telemetry {

class MetricsReader final : private EventReader {
 public:
  struct Place {
    int rank = 0;
    int size = 1;
  };
  // Begins with the next event. `place` is the rank's until a job begins.
  //   (errors)  the thread cannot be created
  static absl::StatusOr<std::unique_ptr<MetricsReader>> start(
      std::shared_ptr<TraceFollower> follower, const Place& place);
  ~MetricsReader() { follower_->remove(*this); }
  MetricsReader(const MetricsReader&) = delete;
  MetricsReader& operator=(const MetricsReader&) = delete;

  // With all events so far.
  std::vector<Metric> snapshot();

 private:
  MetricsReader(std::shared_ptr<TraceFollower> follower, const Place& place);
  void read(const trace::Event& event, const Operations& operations) override;
  void missed(std::uint64_t count, const Operations& operations) override;
  void pause() override {}

  Mutex mutex_;
  JobMetrics metrics_ ABSL_GUARDED_BY(mutex_);
  const std::shared_ptr<TraceFollower> follower_;
};

}  // namespace hvd::telemetry
