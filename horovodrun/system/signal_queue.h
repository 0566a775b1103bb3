// SPDX-License-Identifier: Apache-2.0
// Signals that are read when there is time for them, instead of interrupting;
// and what the launcher's processes, which all wait for signals and for the end
// of their parent, do it with. For programs of one thread only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

#include "horovodrun/system/process.h"

namespace hvd::launcher {

class SignalQueue {
 public:
  struct Arrival {
    int signal = 0;
    pid_t sender = 0;  // 0: the kernel.
  };

  // From now on this process gets `signals` here. They stay blocked, and in its
  // children, too, even without the queue.
  explicit SignalQueue(const std::vector<int>& signals);
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  // Becomes readable when a signal has come; -1 where the system had no
  // descriptor left.
  int fd() const { return fd_; }
  // What has come, one after the other.
  std::optional<Arrival> next() const;

 private:
  const int fd_;
};

struct SignalWait {
  std::chrono::milliseconds longest = std::chrono::hours(1);
  int readable =
      -1;  // Waits no longer than until this can be read; -1: nothing.
};

// Waits until a signal has come or `parent` has ended. An end that was seen before
// ends it no more.
void wait_for_signal(const SignalQueue& signals, const ParentWatch& parent,
                     const SignalWait& wait = {});

}  // namespace hvd::launcher
