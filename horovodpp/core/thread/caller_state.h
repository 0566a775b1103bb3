// SPDX-License-Identifier: Apache-2.0
// CallerState is the communication half's state of one thread. (The autograd
// half has its own; and c/call.cc keeps the last error of a caller in C, which
// needs a destructor.) The classes named here set it, and restore it at the end
// of their scope.
#pragma once

#include <memory>

namespace hvd {
namespace trace {
class Recorder;
}

class Interruption;
class WakeTogether;
struct ThreadJob;

struct CallerState {
  // Delays this thread's wake-ups (core/thread/futex_word.h).
  WakeTogether* wakes = nullptr;
  // Can end this thread's waits early (core/thread/interruption.h).
  Interruption* interruption = nullptr;
  // The number of WaitsAtOnce that live on this thread.
  int waits_at_once = 0;
  // The job of a thread that is a rank of its own (runtime/global.h); nullptr:
  // that of the process.
  ThreadJob* job = nullptr;
  // The trace of that rank (core/trace/current.h); nullptr: that of the process.
  const std::shared_ptr<trace::Recorder>* recorder = nullptr;
};

// Not initial-exec: static thread-local memory may be used up when a program
// loads the library late.
extern constinit thread_local CallerState caller_state;

}  // namespace hvd
