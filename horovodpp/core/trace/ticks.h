// SPDX-License-Identifier: Apache-2.0
// The clock of events. It is the processor's counter if that runs at a constant
// rate, because reading the steady clock takes longer than all else of an
// event. The counter's rate is not known; two Moments interpolate it.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace hvd::trace {

// Nanoseconds of CLOCK_MONOTONIC.
std::uint64_t steady_nanoseconds();

// Whether this processor has a counter that runs at a constant rate.
bool has_steady_counter();

// The processor's counter; only if has_steady_counter().
inline std::uint64_t counter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

inline std::uint64_t read_ticks(bool by_counter) {
  return by_counter ? counter() : steady_nanoseconds();
}

// One moment on both clocks.
struct Moment {
  std::uint64_t ticks = 0;
  std::uint64_t nanoseconds = 0;

  static Moment now(bool by_counter);
};

// Converts ticks to nanoseconds of the steady clock, for ticks between or near
// two moments. Processes of one machine may read each other's ticks.
class SteadyTime {
 public:
  SteadyTime() = default;
  SteadyTime(const Moment& earlier, const Moment& later);

  std::uint64_t at(std::uint64_t ticks) const {
    const auto since = static_cast<std::int64_t>(ticks - earlier_.ticks);
    return earlier_.nanoseconds +
           static_cast<std::uint64_t>(static_cast<std::int64_t>(
               static_cast<double>(since) * nanoseconds_of_tick_));
  }

 private:
  Moment earlier_;
  double nanoseconds_of_tick_ = 0;
};

}  // namespace hvd::trace
