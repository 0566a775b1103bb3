// SPDX-License-Identifier: Apache-2.0
// The metrics of one rank, which pass from one job of the rank to the next. They
// cost the rank nothing until they are wanted. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/telemetry/metrics/metric.h"
#include "horovodpp/telemetry/metrics/metrics_file.h"
#include "horovodpp/telemetry/metrics/metrics_reader.h"
#include "horovodpp/telemetry/metrics/metrics_server.h"
#include "horovodpp/telemetry/trace/trace_follower.h"

namespace hvd::telemetry {

class RankMetrics {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    bool count = false;  // Also without a file and a port.
    // "": none. "{rank}" stands for the rank; without it only rank 0 writes.
    std::string file = {};
    std::chrono::nanoseconds interval = std::chrono::seconds(15);
    int port = 0;  // Of local rank 0, then ascending; 0: none.
    std::string address = "127.0.0.1";
    Log::Options log = {};  // Of warnings.
  };

  explicit RankMetrics(std::shared_ptr<TraceFollower> follower)
      : follower_(std::move(follower)) {}
  // Call write() before, for a file of the last values.
  ~RankMetrics() = default;
  RankMetrics(const RankMetrics&) = delete;
  RankMetrics& operator=(const RankMetrics&) = delete;

  // Begins what `options` ask for, and has not begun. An error is a warning in
  // the log. A rank with a new number takes the file of that number; it keeps
  // its port.
  void start(const Options& options);

  // The first call begins to count, unless start() did.
  //   (errors)  the thread cannot be created
  absl::StatusOr<std::vector<Metric>> snapshot(
      const MetricsReader::Place& place);

  // Writes the file, if there is one.
  void write();

 private:
  absl::Status begin(const MetricsReader::Place& place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void start_file(const Options& options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void start_server(const Options& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<TraceFollower> follower_;
  Mutex mutex_;
  // Destroyed in the reverse order: the file and the server use the others.
  std::optional<Log> log_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<MetricsReader> reader_ ABSL_GUARDED_BY(mutex_);
  std::string path_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<MetricsFile> file_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<MetricsServer> server_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::telemetry
