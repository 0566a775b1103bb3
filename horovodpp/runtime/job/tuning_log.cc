// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/tuning_log.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/system/file_error.h"

namespace hvd::runtime {

TuningLog::TuningLog(Options options) : options_(std::move(options)) {
  errno = 0;
  file_.open(options_.path, std::ios::trunc);
  write(
      "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,"
      "cache_enabled,cycle_time_ms,tensor_fusion_threshold,score\n");
}

// The score is Horovod's: bytes for each microsecond of a step.
void TuningLog::add(const coordinator::TuningSample& sample) {
  constexpr double kMicroseconds = 1e6;
  write(absl::StrFormat(
      "%d,%d,0,%d,%g,%.0f,%.6g\n", options_.hierarchical_allreduce ? 1 : 0,
      options_.hierarchical_allgather ? 1 : 0, options_.has_cache ? 1 : 0,
      options_.cycle_time_ms, sample.largest_batch,
      sample.bytes / (sample.step_seconds * kMicroseconds)));
}

void TuningLog::finish(const std::optional<coordinator::TuningSample>& best) {
  if (best) add(*best);
  file_.close();
}

void TuningLog::write(const std::string& line) {
  if (has_failed_) return;
  const FileSizeSignal as_error;
  errno = file_.is_open() ? 0 : errno;
  file_ << line << std::flush;
  if (file_) return;
  has_failed_ = true;
  options_.warn(absl::StrCat("cannot write '", options_.path,
                             "', the file of HOROVOD_AUTOTUNE_LOG (",
                             std::strerror(errno), "); the job goes on"));
}

}  // namespace hvd::runtime
