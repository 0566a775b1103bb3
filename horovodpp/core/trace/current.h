// SPDX-License-Identifier: Apache-2.0
// The recorder of a thread's rank: that of the thread's ThreadRuntime, or that of
// the process. runtime/global.cc sets both.
//
// Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "horovodpp/core/thread/caller_state.h"
#include "horovodpp/core/trace/recorder.h"

namespace hvd::trace {

// The recorder of this thread's rank; nullptr, after two loads, without one.
std::shared_ptr<Recorder> current();

// Sets the recorder of the process. nullptr: it has none.
void set_of_process(std::shared_ptr<Recorder> recorder);

// In a forked child: neither the process nor this thread has a recorder. The
// child may share the memory of its parent's.
void forget_after_fork();

// Whether current() would return a recorder.
bool has_current();

// Makes `recorder` that of this thread while in scope. nullptr: the thread has
// none, nor uses that of the process.
class ThreadRecorder {
 public:
  explicit ThreadRecorder(std::shared_ptr<Recorder> recorder)
      : recorder_(std::move(recorder)),
        previous_(std::exchange(caller_state.recorder, &recorder_)) {}
  ~ThreadRecorder() { caller_state.recorder = previous_; }
  ThreadRecorder(const ThreadRecorder&) = delete;
  ThreadRecorder& operator=(const ThreadRecorder&) = delete;

 private:
  const std::shared_ptr<Recorder> recorder_;
  const std::shared_ptr<Recorder>* const previous_;
};

}  // namespace hvd::trace
