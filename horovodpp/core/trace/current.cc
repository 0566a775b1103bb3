// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/current.h"

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::trace {
namespace {

constinit std::atomic<bool> process_has_one{false};

// Never destroyed, so that exit order cannot matter.
struct OfProcess {
  Mutex mutex;
  std::shared_ptr<Recorder> recorder ABSL_GUARDED_BY(mutex);
};

OfProcess& of_process() {
  static auto* const instance = new OfProcess;
  return *instance;
}

}  // namespace

bool has_current() {
  if (caller_state.recorder != nullptr) {
    return *caller_state.recorder != nullptr;
  }
  return process_has_one.load(std::memory_order_relaxed);
}

std::shared_ptr<Recorder> current() {
  if (caller_state.recorder != nullptr) return *caller_state.recorder;
  if (!process_has_one.load(std::memory_order_relaxed)) return nullptr;
  MutexLock lock(of_process().mutex);
  return of_process().recorder;
}

void set_of_process(std::shared_ptr<Recorder> recorder) {
  // The old one is released after the lock.
  MutexLock lock(of_process().mutex);
  of_process().recorder.swap(recorder);
  process_has_one.store(of_process().recorder != nullptr);
}

void forget_after_fork() {
  process_has_one.store(false);
  caller_state.recorder = nullptr;
}

}  // namespace hvd::trace
