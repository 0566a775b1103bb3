// SPDX-License-Identifier: Apache-2.0
// A TraceFollower passes a rank's events to readers, in order, on one thread for
// all of them. The rank never waits for it: events that are overwritten before
// the thread has read them are missed. A reader that is slow delays the others.
//
// The thread starts with the first reader, and sleeps while there is none.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/core/trace/ticks.h"
#include "horovodpp/telemetry/trace/operations.h"

namespace hvd::telemetry {

// Called by one thread at a time. During a call only nanoseconds() and name()
// of the follower may be called.
class EventReader {
 public:
  // `operations` are as after the event.
  virtual void read(const trace::Event& event,
                    const Operations& operations) = 0;
  // `count` events before the next one are missing, and all `operations` end.
  virtual void missed(std::uint64_t count, const Operations& operations) = 0;
  // All events so far have been read.
  virtual void pause() = 0;

 protected:
  ~EventReader() = default;
};

class TraceFollower {
 public:
  explicit TraceFollower(std::shared_ptr<trace::Recorder> recorder);
  // All readers have been removed.
  ~TraceFollower();
  TraceFollower(const TraceFollower&) = delete;
  TraceFollower& operator=(const TraceFollower&) = delete;

  // Passes events to `reader`, from the next one on, until remove().
  //   ResourceExhausted  the thread cannot be created
  absl::Status add(EventReader& reader);
  // Returns once `reader` has read all events so far; it gets no others.
  // Without effect for a reader that was not added.
  void remove(EventReader& reader);

  // Passes all events so far to the readers.
  void flush();

  // For a reader, during a call: nanoseconds of the steady clock, and the name
  // of a number in events.
  std::uint64_t nanoseconds(std::uint64_t ticks) const {
    return time_.at(ticks);
  }
  trace::Name name(std::uint32_t number) const { return trace_.name(number); }

 private:
  void run();
  bool drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<trace::Recorder> recorder_;
  const trace::RingReader trace_;
  Mutex mutex_;
  CondVar changed_;  // is_over_, or the readers.
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<EventReader*> readers_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  Operations operations_ ABSL_GUARDED_BY(mutex_);
  trace::SteadyTime time_;  // As of the present drain().
  std::thread thread_;
};

}  // namespace hvd::telemetry
