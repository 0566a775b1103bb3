// SPDX-License-Identifier: Apache-2.0
// A Clock is monotonic time, passed in so that tests can set it.
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
  // At most some milliseconds behind now(), and cheaper.
  virtual TimePoint recent() const { return now(); }

  // The machine's steady clock.
  static const Clock& steady();
};

// A clock that moves only on advance(). Thread-safe.
class ManualClock : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(ticks_.load())); }
  void advance(Duration by) { ticks_.fetch_add(by.count()); }

 private:
  std::atomic<Duration::rep> ticks_{0};
};

// `now` plus `timeout`, capped at the latest time that the clock can
// represent.
inline std::chrono::steady_clock::time_point deadline_after(
    std::chrono::nanoseconds timeout,
    std::chrono::steady_clock::time_point now =
        std::chrono::steady_clock::now()) {
  constexpr auto kLatest = std::chrono::steady_clock::time_point::max();
  return timeout > kLatest - now ? kLatest : now + timeout;
}

}  // namespace hvd
