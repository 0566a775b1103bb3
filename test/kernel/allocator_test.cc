// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "horovodpp/autograd.h"
#include "test/support/fork.h"

namespace hvd::autograd {
namespace {

// More than a thread keeps for itself.
constexpr std::int64_t kLarge = 1 << 20;

TEST(Allocator, ServesTheChildOfAForkWhileOthersAllocate) {
  if (!kForkedMallocWorks) GTEST_SKIP() << kForkedMallocMayHang;
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      while (!done) empty({kLarge});
    });
  }
  int failures = 0;
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // A child that waits for a lock for good ends by this.
      ::_exit(empty({kLarge}).num_elements() == kLarge ? 0 : 1);
    }
    int status = -1;
    if (::waitpid(child, &status, 0) != child || status != 0) {
      ++failures;
      break;
    }
  }
  done = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace hvd::autograd
