// SPDX-License-Identifier: Apache-2.0
// Threads that repeat calls while the calls' job begins and ends.
// ThreadSanitizer and AddressSanitizer find objects that outlive their owner.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace hvd {

// `times`, or less if HOROVODPP_TEST_RUNS is set, as in slow builds with
// sanitizers.
inline int times_here(int times) {
  const char* const text = std::getenv("HOROVODPP_TEST_RUNS");
  return text == nullptr ? times : std::min(times, 10 * std::atoi(text));
}

// Repeats `calls` on several threads until `change` has run `times_here(times)`
// times. Each thread starts with a different call.
inline void hammer(const std::vector<std::function<void()>>& calls, int times,
                   const std::function<void()>& change) {
  constexpr std::size_t kThreads = 3;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t next = thread * calls.size() / kThreads; !is_over;
           ++next) {
        calls[next % calls.size()]();
      }
    });
  }
  for (int i = 0; i < times_here(times); ++i) change();
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hvd
