// SPDX-License-Identifier: Apache-2.0
// A Timeline writes a rank's events to a file for chrome://tracing and
// Perfetto, in Horovod's format. It follows the rank's trace: the rank does not
// wait for it. Events that come too fast are counted, and missing in the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/telemetry/log.h"
#include "horovodpp/telemetry/timeline/event_lanes.h"
#include "horovodpp/telemetry/timeline/json_array_file.h"
#include "horovodpp/telemetry/trace/trace_follower.h"

namespace hvd::telemetry {

class Timeline final : private EventReader {
 public:
  struct Options {
    std::string path;
    int rank = 0;
    bool mark_cycles = false;
    // Whether a rank other than 0 writes to "<path>.rank1", to be merged.
    bool parts = false;
    Log::Options log = {};  // Of warnings.
  };

  // Begins with the next event.
  //   (errors)  the file cannot be written; the thread cannot be created
  static absl::StatusOr<std::unique_ptr<Timeline>> start(
      std::shared_ptr<TraceFollower> follower, const Options& options);
  // Writes all events so far, and closes the file.
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Writes all events so far.
  void flush() { follower_->flush(); }

 private:
  Timeline(std::shared_ptr<TraceFollower> follower, const Options& options,
           std::unique_ptr<JsonArrayFile> file);
  absl::Status begin();
  void read(const trace::Event& event, const Operations& operations) override {
    lanes_.add(event, operations);
  }
  void missed(std::uint64_t count, const Operations& operations) override;
  void pause() override;
  void append(std::string_view elements);
  void end();

  const int rank_;
  Log log_;
  const std::uint64_t began_;  // Nanoseconds of the steady clock.
  std::unique_ptr<JsonArrayFile> file_;
  EventLanes lanes_;
  std::uint64_t lost_ = 0;
  const std::shared_ptr<TraceFollower> follower_;
};

// The trace of one rank, which passes from one job of the rank to the next: its
// recorder, the follower, and its timeline if one is written. Thread-safe.
class RankTrace {
 public:
  // `launcher`: see trace::Recorder::open().
  explicit RankTrace(int launcher = -1)
      : recorder_(trace::Recorder::open(launcher)),
        follower_(std::make_shared<TraceFollower>(recorder_)) {}

  trace::Recorder& recorder() const { return *recorder_; }
  const std::shared_ptr<trace::Recorder>& shared_recorder() const {
    return recorder_;
  }
  // Of all that reads the trace in this process.
  const std::shared_ptr<TraceFollower>& follower() const { return follower_; }

  // Ends the present timeline, if any, and writes to `options.path` from here
  // on. "{rank}" in the path stands for the rank; without it and without parts
  // only rank 0 writes. A file that cannot be written is a warning. Of parts
  // only rank 0 warns: the others fail alike, or are missed at the merge.
  void start_timeline(Timeline::Options options);
  void stop_timeline();
  void flush();

 private:
  const std::shared_ptr<trace::Recorder> recorder_;
  const std::shared_ptr<TraceFollower> follower_;
  Mutex mutex_;
  std::unique_ptr<Timeline> timeline_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::telemetry
