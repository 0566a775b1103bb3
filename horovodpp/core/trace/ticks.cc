// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/ticks.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hvd::trace {

std::uint64_t steady_nanoseconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bool has_steady_counter() {
#if defined(__x86_64__)
  // "Invariant TSC": the rate depends neither on the core nor on its frequency.
  constexpr unsigned kLeaf = 0x80000007;
  constexpr unsigned kInvariant = 1u << 8;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(kLeaf, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

// The clock between two readings of the counter; their mean is its moment.
Moment Moment::now(bool by_counter) {
  if (!by_counter) {
    const std::uint64_t now = steady_nanoseconds();
    return {now, now};
  }
  Moment best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::uint64_t before = counter();
    const std::uint64_t now = steady_nanoseconds();
    const std::uint64_t took = counter() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, now};
  }
  return best;
}

SteadyTime::SteadyTime(const Moment& earlier, const Moment& later)
    : earlier_(earlier) {
  if (later.ticks == earlier.ticks) return;
  nanoseconds_of_tick_ =
      static_cast<double>(
          static_cast<std::int64_t>(later.nanoseconds - earlier.nanoseconds)) /
      static_cast<double>(
          static_cast<std::int64_t>(later.ticks - earlier.ticks));
}

}  // namespace hvd::trace
