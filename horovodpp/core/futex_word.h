// SPDX-License-Identifier: Apache-2.0
// A FutexWord is a number that threads sleep on until another thread changes it.
//
//   while (word.load() == kPending) word.sleep(kPending);     // one thread
//   word.store(kDone);                                        // another one
//   word.wake();
//
// Who wakes need not know whether the word is still there, as the thread that
// slept may have destroyed it: see WakeTogether.
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

namespace hvd {

class FutexWord {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  FutexWord() = default;
  FutexWord(const FutexWord&) = delete;
  FutexWord& operator=(const FutexWord&) = delete;

  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }
  // Sequentially consistent: either this thread sees who is about to sleep, or that
  // thread sees the value.
  void store(std::uint32_t value) { value_.store(value); }

  // Sleeps while the word is `value`, until `deadline`; may wake for no reason.
  void sleep(std::uint32_t value,
             std::optional<TimePoint> deadline = std::nullopt);
  // Wakes all who sleep, or lets the WakeTogether of this thread do it. A load
  // where nobody does.
  void wake();

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

// While one lives, what this thread changes wakes nobody; all are woken in the
// end. A thread that waits for one outcome after another sleeps once for many that
// are set in a row, and not once for each.
class WakeTogether {
 public:
  WakeTogether() : outer_(std::exchange(here_, this)) {}
  ~WakeTogether() {
    wake_all();
    here_ = outer_;
  }
  WakeTogether(const WakeTogether&) = delete;
  WakeTogether& operator=(const WakeTogether&) = delete;

  // Wakes all that the one of this thread has yet to wake: before it runs code of
  // others, which may wait for theirs.
  static void flush() {
    if (here_ != nullptr) here_->wake_all();
  }

 private:
  friend class FutexWord;

  // Whoever sleeps on `word`, which need not live until then.
  void add(const std::atomic<std::uint32_t>& word);
  void wake_all();

  static inline thread_local WakeTogether* here_ = nullptr;

  WakeTogether* const outer_;
  std::array<const std::atomic<std::uint32_t>*, 8> words_ = {};
  std::size_t count_ = 0;
};

}  // namespace hvd
