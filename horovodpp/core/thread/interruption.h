// SPDX-License-Identifier: Apache-2.0
// An Interruption can end a wait of this thread before the outcome is
// available: through a signal handler's exception, for example, or because a
// deadline has passed. Wait loops on this thread ask the innermost
// Interruption.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "horovodpp/core/thread/caller_state.h"

namespace hvd {

class Interruption {
 public:
  using Clock = std::chrono::steady_clock;
  // Interval between questions, also before the first.
  static constexpr std::chrono::milliseconds kInterval{100};
  // The time to leave work in order.
  static constexpr std::chrono::seconds kLeave{2};

  // `ask(context)` returns whether to stop waiting; nullptr: no.
  Interruption(bool (*ask)(void* context), void* context,
               Clock::time_point deadline = Clock::time_point::max())
      : ask_(ask),
        context_(context),
        deadline_(deadline),
        previous_(caller_state.interruption) {
    caller_state.interruption = this;
  }
  ~Interruption() { caller_state.interruption = previous_; }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // The innermost one of this thread; nullptr: waits cannot be interrupted.
  static Interruption* here() { return caller_state.interruption; }

  // Asks if the interval has passed. Once true, always true.
  bool is_due_to_stop() {
    if (stops_) return true;
    const auto now = Clock::now();
    stops_ = has_timed_out_ = now >= deadline_;
    if (!stops_ && now >= due_) {
      due_ = now + kInterval;
      stops_ = ask_ != nullptr && ask_(context_);
    }
    return stops_;
  }
  // When to ask next.
  Clock::time_point due() const {
    return stops_ ? Clock::now() + kInterval : std::min(due_, deadline_);
  }

  bool has_deadline() const { return deadline_ < Clock::time_point::max(); }
  // The wait stops because of its deadline.
  bool has_timed_out() const { return has_timed_out_; }
  // Whether this thread must not go on even with work that no other thread can
  // continue. After a deadline it goes on for a moment, to leave it in order.
  bool is_pressing() const {
    return stops_ && (!has_timed_out_ || Clock::now() >= deadline_ + kLeave);
  }

  // Says why the outcome is not available. Set by the code that knows, while
  // this thread waits with a deadline.
  std::function<std::string()> explain;

 private:
  bool (*const ask_)(void*);
  void* const context_;
  const Clock::time_point deadline_;
  Interruption* const previous_;
  Clock::time_point due_ = Clock::now() + kInterval;
  bool stops_ = false;
  bool has_timed_out_ = false;
};

}  // namespace hvd
