// SPDX-License-Identifier: Apache-2.0
// A FutexWord is a number that threads sleep on until another thread changes
// it.
//
//   while (word.load() == kPending) word.sleep(kPending);     // one thread
//   word.store(kDone);                                        // another one
//   word.wake();
//
// The woken thread may destroy the word while the other thread still wakes: see
// WakeTogether.
//
// Thread-safe, within one process.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "horovodpp/core/thread/caller_state.h"

namespace hvd {

class FutexWord {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  FutexWord() = default;
  FutexWord(const FutexWord&) = delete;
  FutexWord& operator=(const FutexWord&) = delete;

  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }
  // Sequentially consistent: either this thread sees a thread about to sleep,
  // or that thread sees the new value.
  void store(std::uint32_t value) { value_.store(value); }

  // Sleeps while the word is `value`, until `deadline`; may wake spuriously.
  void sleep(std::uint32_t value,
             std::optional<TimePoint> deadline = std::nullopt);
  // Wakes all sleepers, or leaves that to this thread's WakeTogether. Without
  // sleepers it costs one load.
  void wake();

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

// While a WakeTogether lives, wake() on this thread is delayed until the end. A
// thread that waits for several outcomes in turn then sleeps once for many
// outcomes set in a row, not once for each.
class WakeTogether {
 public:
  WakeTogether() : outer_(std::exchange(caller_state.wakes, this)) {}
  ~WakeTogether() {
    wake_all();
    caller_state.wakes = outer_;
  }
  WakeTogether(const WakeTogether&) = delete;
  WakeTogether& operator=(const WakeTogether&) = delete;

  // Sends the delayed wake-ups of this thread. Call before running foreign
  // code, which may wait for the woken threads.
  static void flush() {
    if (caller_state.wakes != nullptr) caller_state.wakes->wake_all();
  }

 private:
  friend class FutexWord;

  // Sleepers on `word` will be woken; `word` may be freed before that.
  void add(const std::atomic<std::uint32_t>& word);
  void wake_all();

  WakeTogether* const outer_;
  std::array<const std::atomic<std::uint32_t>*, 8> words_ = {};
  std::size_t count_ = 0;
};

}  // namespace hvd
