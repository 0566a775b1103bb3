// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hvd {
namespace {

struct Account {
  Mutex mutex;
  CondVar changed;
  int balance ABSL_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, LetsOneThreadInAtATime) {
  Account account;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&account] {
      for (int j = 0; j < 1000; ++j) {
        MutexLock lock(account.mutex);
        ++account.balance;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(account.mutex);
  EXPECT_EQ(account.balance, 4000);
}

bool is_free(Mutex& mutex) {
  if (!mutex.try_lock()) return false;
  mutex.unlock();
  return true;
}

bool is_free_for_another_thread(Mutex& mutex) {
  bool free = false;
  std::thread([&] { free = is_free(mutex); }).join();
  return free;
}

TEST(Mutex, TryLockSucceedsOnlyIfFree) {
  Mutex mutex;
  EXPECT_TRUE(is_free(mutex));
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free_for_another_thread(mutex));
  }
  EXPECT_TRUE(is_free_for_another_thread(mutex));
}

TEST(CondVar, WakesAWaiterAndReturnsTheLock) {
  Account account;
  std::thread payer([&account] {
    {
      MutexLock lock(account.mutex);
      account.balance = 5;
    }
    account.changed.notify_all();
  });
  {
    MutexLock lock(account.mutex);
    while (account.balance == 0) account.changed.wait(account.mutex);
    account.balance = 0;
  }
  payer.join();
  EXPECT_TRUE(is_free(account.mutex));
}

TEST(CondVar, WaitUntilGivesUpOnceTheDeadlineHasPassed) {
  Account account;
  MutexLock lock(account.mutex);
  const auto past =
      std::chrono::steady_clock::now() - std::chrono::milliseconds(1);
  EXPECT_FALSE(account.changed.wait_until(account.mutex, past));
}

}  // namespace
}  // namespace hvd
