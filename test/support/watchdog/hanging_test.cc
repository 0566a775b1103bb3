// SPDX-License-Identifier: Apache-2.0
// Cases that never end; watchdog_test.py runs them.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "horovodpp/core/thread/thread_start.h"

namespace hvd {
namespace {

std::mutex never_mutex;
std::condition_variable never;

__attribute__((noinline)) void wait_for_ever() {
  std::unique_lock lock(never_mutex);
  never.wait(lock, [] { return false; });
}

TEST(Hanging, Ends) {}

// The library's threads block all signals.
TEST(Hanging, WaitsForItsThreadsAndHasAChild) {
  if (fork() == 0) {
    for (;;) pause();
  }
  auto thread = start_thread("waits for ever", [] {
    pthread_setname_np(pthread_self(), "rank 1");
    wait_for_ever();
  });
  ASSERT_TRUE(thread.ok());
  thread->join();
}

TEST(Hanging, IsBusy) {
  for (volatile int i = 0;;) i = i + 1;
}

}  // namespace
}  // namespace hvd
