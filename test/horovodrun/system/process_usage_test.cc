// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/process_usage.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

namespace hvd::launcher {
namespace {

TEST(ProcessUsage, CountsTimeAndMemory) {
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 20;
  while (std::clock() < end) {
  }
  const ProcessUsage usage = usage_of_tree(getpid());
  EXPECT_GE(usage.cpu_ms, 30);
  EXPECT_GT(usage.resident_kib, 100);
}

TEST(ProcessUsage, CountsChildren) {
  const ProcessUsage alone = usage_of_tree(getpid());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const ProcessUsage both = usage_of_tree(getpid());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_GT(both.resident_kib, alone.resident_kib);
}

TEST(ProcessUsage, IsZeroWithoutAProcess) {
  EXPECT_EQ(usage_of_tree(1 << 30).resident_kib, 0);
}

}  // namespace
}  // namespace hvd::launcher
