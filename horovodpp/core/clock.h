// SPDX-License-Identifier: Apache-2.0
// Monotonic time, passed in, so that tests can set it.
#pragma once

#include <atomic>
#include <chrono>

namespace hvd {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  // Some milliseconds behind now() at most, and cheaper.
  virtual TimePoint recent() const { return now(); }

  // The machine's steady clock.
  static const Clock& steady();
};

// A clock that moves only when told to. Thread-safe.
class ManualClock : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(ticks_.load())); }
  void advance(Duration by) { ticks_.fetch_add(by.count()); }

 private:
  std::atomic<Duration::rep> ticks_{0};
};

}  // namespace hvd
