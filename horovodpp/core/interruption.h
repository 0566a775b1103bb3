// SPDX-License-Identifier: Apache-2.0
// An Interruption is what can end a wait of this thread before there is an outcome,
// as an exception from a signal's handler. Loops that wait on behalf of the thread
// ask the one that lives on it.
#pragma once

#include <chrono>

namespace hvd {

class Interruption {
 public:
  using Clock = std::chrono::steady_clock;
  // It is asked for the first time when so long has passed, and then as often.
  static constexpr std::chrono::milliseconds kInterval{100};

  // `ask(context)`: whether to stop waiting.
  Interruption(bool (*ask)(void* context), void* context)
      : ask_(ask), context_(context), previous_(here_) {
    here_ = this;
  }
  ~Interruption() { here_ = previous_; }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // That of this thread; nullptr: its waits cannot be ended.
  static Interruption* here() { return here_; }

  // Asks if it is time to; once the wait is to end, that stays so.
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
  static inline thread_local Interruption* here_ = nullptr;

  bool (*const ask_)(void*);
  void* const context_;
  Interruption* const previous_;
  Clock::time_point due_ = Clock::now() + kInterval;
  bool stops_ = false;
};

}  // namespace hvd
