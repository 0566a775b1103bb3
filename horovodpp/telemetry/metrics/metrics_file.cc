// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/metrics_file.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/atomic_file.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/telemetry/metrics/exposition.h"

namespace hvd::telemetry {

absl::StatusOr<std::unique_ptr<MetricsFile>> MetricsFile::start(
    Options options) {
  std::unique_ptr<MetricsFile> file(new MetricsFile(std::move(options)));
  HVD_RETURN_IF_ERROR(file->try_to_write());
  HVD_ASSIGN_OR_RETURN(
      file->thread_,
      start_thread("writes the metrics", [me = file.get()] { me->run(); }));
  return file;
}

MetricsFile::~MetricsFile() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MetricsFile::write() {
  const absl::Status written = try_to_write();
  MutexLock lock(writing_);
  const bool had_failed = std::exchange(has_failed_, !written.ok());
  if (written.ok() || had_failed) return;
  options_.log->warning(absl::StrCat(
      "the metrics are out of date, and the job goes on: ", written.message()));
}

absl::Status MetricsFile::try_to_write() {
  MutexLock lock(writing_);
  const std::string text = exposition(
      options_.collect(), absl::EndsWith(options_.path, ".openmetrics")
                              ? TextFormat::kOpenMetrics
                              : TextFormat::kPrometheus);
  try {
    AtomicFile file(options_.path);
    file.write(text.data(), text.size());
    file.commit();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

void MetricsFile::run() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    const auto until = std::chrono::steady_clock::now() + options_.interval;
    while (!stopped_ && stop_.wait_until(mutex_, until)) {
    }
    if (stopped_) return;
    mutex_.unlock();
    write();
    mutex_.lock();
  }
}

}  // namespace hvd::telemetry
