// SPDX-License-Identifier: Apache-2.0
// A Timeline writes a rank's events to a file for chrome://tracing and
// Perfetto, in Horovod's format. A thread of its own follows the rank's trace.
// The rank never waits for it: events that are overwritten before the thread
// has read them are counted, and missing in the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/core/trace/ticks.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/telemetry/timeline/event_lanes.h"
#include "horovodpp/telemetry/timeline/json_array_file.h"

namespace hvd::telemetry {

class Timeline {
 public:
  struct Options {
    std::string path;
    int rank = 0;
    bool mark_cycles = false;
    Log::Options log = {};  // Of warnings.
  };

  // Begins with the next event.
  //   (errors)  the file cannot be written; the thread cannot be created
  static absl::StatusOr<std::unique_ptr<Timeline>> start(
      std::shared_ptr<trace::Recorder> recorder, const Options& options);
  // Writes all events so far, and closes the file.
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Writes all events so far.
  void flush();

 private:
  Timeline(std::shared_ptr<trace::Recorder> recorder, const Options& options,
           std::unique_ptr<JsonArrayFile> file);
  absl::Status begin();
  void run();
  bool drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void skip_to(std::uint64_t next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void append(const std::string& elements)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void end() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<trace::Recorder> recorder_;
  const trace::RingReader reader_;
  const int rank_;
  Log log_;
  const std::uint64_t began_;  // Nanoseconds of the steady clock.
  Mutex mutex_;
  CondVar stop_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<JsonArrayFile> file_ ABSL_GUARDED_BY(mutex_);
  trace::Moment now_ ABSL_GUARDED_BY(mutex_);  // Of the present drain().
  EventLanes lanes_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

// The trace of one rank, which passes from one job of the rank to the next: its
// recorder, and its timeline if one is written. Thread-safe.
class RankTrace {
 public:
  // `launcher`: see trace::Recorder::open().
  explicit RankTrace(int launcher = -1)
      : recorder_(trace::Recorder::open(launcher)) {}

  trace::Recorder& recorder() const { return *recorder_; }

  // Ends the present timeline, if any, and writes to `options.path` from here
  // on. "{rank}" in the path stands for the rank; without it only rank 0
  // writes. A file that cannot be written is a warning.
  void start_timeline(Timeline::Options options);
  void stop_timeline();
  void flush();

 private:
  const std::shared_ptr<trace::Recorder> recorder_;
  Mutex mutex_;
  std::unique_ptr<Timeline> timeline_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::telemetry
