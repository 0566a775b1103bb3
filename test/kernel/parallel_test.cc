// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "horovodpp/core/thread/threads.h"

namespace hvd::autograd {
namespace {

// How often a loop visits each iteration, with two threads.
std::vector<int> visits(const LoopSize& loop) {
  set_num_threads(2);
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(loop.count));
  std::atomic<bool> aligned{true};
  parallel_for(loop, [&](std::int64_t begin, std::int64_t end) {
    if (begin % loop.multiple != 0) aligned = false;
    for (std::int64_t i = begin; i < end; ++i) {
      counts[static_cast<std::size_t>(i)] += 1;
    }
  });
  EXPECT_TRUE(aligned);
  return {counts.begin(), counts.end()};
}

bool all_once(const std::vector<int>& counts) {
  return std::all_of(counts.begin(), counts.end(),
                     [](int count) { return count == 1; });
}

TEST(ParallelFor, VisitsEachIterationOnce) {
  EXPECT_TRUE(visits({.count = 0}).empty());
  EXPECT_TRUE(all_once(visits({.count = 1})));
  EXPECT_TRUE(all_once(visits({.count = 200'001})));
  EXPECT_TRUE(all_once(visits({.count = 200'001, .multiple = 512})));
  EXPECT_TRUE(all_once(visits({.count = 37, .cost = 100'000})));
  EXPECT_TRUE(all_once(visits({.count = 37, .cost = 100'000, .multiple = 16})));
}

TEST(ParallelFor, NestsInItsOwnBody) {
  set_num_threads(2);
  std::atomic<std::int64_t> total{0};
  parallel_for({.count = 4, .cost = 100'000}, [&](auto begin, auto end) {
    for (auto i = begin; i < end; ++i) {
      parallel_for({.count = 100'000},
                   [&](auto first, auto last) { total += last - first; });
    }
  });
  EXPECT_EQ(total, 400'000);
}

TEST(ParallelFor, RunsInAForkedChild) {
  ASSERT_TRUE(all_once(visits({.count = 200'001})));  // Starts the pool.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(all_once(visits({.count = 200'001})) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hvd::autograd
