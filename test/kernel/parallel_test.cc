// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/kernel/scratch.h"
#include "test/support/expect_error.h"

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

TEST(ParallelFor, PassesOnWhatABodyThrows) {
  set_num_threads(3);
  for (const std::int64_t where : {0, 70'000, 199'999}) {
    const auto run = [&] {
      parallel_for({.count = 200'000}, [&](auto begin, auto end) {
        if (begin <= where && where < end) throw std::bad_alloc();
      });
    };
    EXPECT_THROW(run(), std::bad_alloc);
  }
  // All threads throw; the pool is as before.
  EXPECT_THROW(parallel_for({.count = 200'000},
                            [](auto, auto) { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_TRUE(all_once(visits({.count = 200'001})));
}

TEST(ParallelFor, ReportsThatMemoryRanOutInItsBody) {
  set_num_threads(3);
  constexpr std::size_t kTooMany = std::size_t{1} << 62;
  for (const std::int64_t where : {0, 150'000}) {
    const auto run = [&] {
      parallel_for({.count = 200'000}, [&](auto begin, auto end) {
        const Scratch memory(begin <= where && where < end ? kTooMany : 64);
      });
    };
    EXPECT_ERROR(Error, "out of memory", run());
    EXPECT_TRUE(all_once(visits({.count = 200'001})));
  }
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
