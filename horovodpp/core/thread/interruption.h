// SPDX-License-Identifier: Apache-2.0
// An Interruption can end a wait of this thread before the outcome is
// available, for example through a signal handler's exception. Wait loops on
// this thread ask the innermost Interruption.
#pragma once

#include <chrono>

#include "horovodpp/core/thread/caller_state.h"

namespace hvd {

class Interruption {
 public:
  using Clock = std::chrono::steady_clock;
  // Interval between questions, also before the first.
  static constexpr std::chrono::milliseconds kInterval{100};

  // `ask(context)` returns whether to stop waiting.
  Interruption(bool (*ask)(void* context), void* context)
      : ask_(ask), context_(context), previous_(caller_state.interruption) {
    caller_state.interruption = this;
  }
  ~Interruption() { caller_state.interruption = previous_; }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // The innermost one of this thread; nullptr: waits cannot be interrupted.
  static Interruption* here() { return caller_state.interruption; }

  // Asks if the interval has passed. Once true, always true.
  bool is_due_to_stop() {
    const auto now = Clock::now();
    if (!stops_ && now >= due_) {
      due_ = now + kInterval;
      stops_ = ask_(context_);
    }
    return stops_;
  }
  Clock::time_point due() const { return due_; }

 private:
  bool (*const ask_)(void*);
  void* const context_;
  Interruption* const previous_;
  Clock::time_point due_ = Clock::now() + kInterval;
  bool stops_ = false;
};

}  // namespace hvd
