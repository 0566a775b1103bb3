// SPDX-License-Identifier: Apache-2.0
// A MetricsFile writes a rank's metrics to a file, for the textfile collector of
// Prometheus' node_exporter: again and again, so that a reader always finds a
// whole file. A name that ends in ".openmetrics" gets OpenMetrics text.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/telemetry/metrics/metric.h"

namespace hvd::telemetry {

class MetricsFile {
 public:
  struct Options {
    std::string path;
    std::chrono::nanoseconds interval = std::chrono::seconds(15);
    std::function<std::vector<Metric>()> collect;
    Log* log = nullptr;  // Of warnings; outlives this object.
  };

  // Writes the file, and from then on once per interval.
  //   (errors)  the file cannot be written, or the thread cannot be created
  static absl::StatusOr<std::unique_ptr<MetricsFile>> start(Options options);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Logs only the first of successive errors.
  void write();

 private:
  explicit MetricsFile(Options options) : options_(std::move(options)) {}
  absl::Status try_to_write();
  void run();

  const Options options_;
  Mutex writing_;
  bool has_failed_ ABSL_GUARDED_BY(writing_) = false;
  Mutex mutex_;
  CondVar stop_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hvd::telemetry
