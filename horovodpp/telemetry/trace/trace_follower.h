// SPDX-License-Identifier: Apache-2.0
// A TraceFollower passes a rank's events to a reader, in order, on a thread of
// its own. The rank never waits for it: events that are overwritten before the
// thread has read them are missed.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/core/trace/ticks.h"

namespace hvd::telemetry {

// Called by one thread at a time.
class EventReader {
 public:
  virtual void read(const trace::Event& event) = 0;
  // `count` events before the next one are missing.
  virtual void missed(std::uint64_t count) = 0;
  // All events so far have been read.
  virtual void pause() = 0;

 protected:
  ~EventReader() = default;
};

class TraceFollower {
 public:
  // Begins with the next event. `reader` outlives this object.
  TraceFollower(std::shared_ptr<trace::Recorder> recorder, EventReader& reader);
  // `what`: what the thread does, "writes the timeline".
  //   (errors)  the thread cannot be created
  absl::Status start(const char* what);
  // Reads all events so far, and no others.
  void stop();
  ~TraceFollower() { stop(); }
  TraceFollower(const TraceFollower&) = delete;
  TraceFollower& operator=(const TraceFollower&) = delete;

  // Reads all events so far.
  void flush();

  // For the reader, during a call: nanoseconds of the steady clock, and the
  // name of a number in events.
  std::uint64_t nanoseconds(std::uint64_t ticks) const;
  trace::Name name(std::uint32_t number) const { return trace_.name(number); }

 private:
  void run();
  bool drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<trace::Recorder> recorder_;
  const trace::RingReader trace_;
  EventReader& reader_;
  Mutex mutex_;
  CondVar stop_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t next_ ABSL_GUARDED_BY(mutex_);
  trace::Moment now_;  // Of the present drain().
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace hvd::telemetry
