// SPDX-License-Identifier: Apache-2.0
// Splits a loop among the threads that one tensor operation may use
// (core/thread/threads.h), from the pool of the process's OpenMP runtime, which
// oneDNN shares.
//
//   parallel_for({.count = rows, .cost = columns}, [&](auto begin, auto end) {
//     for (auto r = begin; r < end; ++r) soften(x + r * columns);
//   });
//
// A short loop runs on the caller's thread alone. So does every loop of a
// process without an OpenMP runtime, of a forked child, whose parent kept the
// pool, and of a loop's own body. Results that depend on the parts' bounds would
// depend on the number of threads. Thread-safe.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace hvd::autograd {

struct LoopSize {
  std::int64_t count = 0;     // Iterations.
  std::int64_t cost = 1;      // Elements that one iteration reads.
  std::int64_t multiple = 1;  // Parts begin at multiples of this.
};

// A thread pays for its start with this many elements.
inline constexpr std::int64_t kElementsPerThread = 32768;

// Calls body(begin, end) for parts that together are [0, count), and returns
// after the last. Throws what a body throws, of several bodies the first; other
// parts may then have run, or not.
void split_loop(const LoopSize& loop,
                absl::FunctionRef<void(std::int64_t, std::int64_t)> body);

template <typename Body>
void parallel_for(const LoopSize& loop, const Body& body) {
  if (loop.count <= loop.multiple ||
      loop.count * loop.cost < 2 * kElementsPerThread) {
    if (loop.count > 0) body(std::int64_t{0}, loop.count);
    return;
  }
  split_loop(loop, body);
}

}  // namespace hvd::autograd
