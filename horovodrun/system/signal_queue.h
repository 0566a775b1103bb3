// SPDX-License-Identifier: Apache-2.0
// A SignalQueue receives signals to be read later instead of interrupting. With
// it the launcher's processes wait for signals and for the end of their parent.
// For programs with one thread only.
#pragma once

#include <poll.h>
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

  // From now on `signals` of this process arrive here. They stay blocked, and
  // in its children, too, even without the queue.
  explicit SignalQueue(const std::vector<int>& signals);
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  // Becomes readable when a signal has come; -1 if the system had no descriptor
  // left.
  int fd() const { return fd_; }
  // The next signal that has arrived.
  std::optional<Arrival> next() const;

 private:
  const int fd_;
};

struct SignalWait {
  std::chrono::milliseconds longest = std::chrono::hours(1);
  int readable = -1;  // Waits no longer than until this is readable; -1: none.
  std::vector<pollfd> more{};  // Nor than until one of these is ready.
};

// Waits until a signal has come or `parent` has ended. An end that was seen
// before does not end the wait.
void wait_for_signal(const SignalQueue& signals, const ParentWatch& parent,
                     const SignalWait& wait = {});

}  // namespace hvd::launcher
