// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/futex_word.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "horovodpp/core/thread/promise.h"

namespace hvd {
namespace {

constexpr std::uint32_t kNotDone = 0;
constexpr std::uint32_t kDone = 1;

void sleep_until_done(FutexWord& word) {
  while (word.load() == kNotDone) word.sleep(kNotDone);
}

TEST(FutexWord, WakesAllSleepers) {
  FutexWord word;
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 3; ++i) {
    sleepers.emplace_back([&] { sleep_until_done(word); });
  }
  word.store(kDone);
  word.wake();
  for (std::thread& sleeper : sleepers) sleeper.join();
}

TEST(FutexWord, DoesNotSleepOnAnotherValue) {
  FutexWord word;
  word.store(kDone);
  word.sleep(kNotDone);
}

TEST(FutexWord, SleepsUntilTheDeadlineAtMost) {
  FutexWord word;
  const auto now = std::chrono::steady_clock::now();
  word.sleep(kNotDone, now - std::chrono::seconds(1));
  word.sleep(kNotDone, now + std::chrono::milliseconds(1));
}

TEST(WakeTogether, WakesAllSleepersAtTheEnd) {
  constexpr std::size_t kWords = 20;
  std::vector<FutexWord> words(kWords);
  std::latch begun(kWords);
  std::vector<std::thread> sleepers;
  for (FutexWord& word : words) {
    sleepers.emplace_back([&] {
      begun.count_down();
      sleep_until_done(word);
    });
  }
  begun.wait();
  {
    const WakeTogether together;
    for (FutexWord& word : words) {
      word.store(kDone);
      word.wake();
    }
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
}

TEST(WakeTogether, DoesNotNeedTheWordsToBeThereStill) {
  for (int i = 0; i < 100; ++i) {
    auto word = std::make_unique<FutexWord>();
    std::latch begun(1);
    std::thread sleeper([&] {
      begun.count_down();
      // Wakes by timeout, and so sees a change without a wake.
      while (word->load() == kNotDone) {
        word->sleep(kNotDone, std::chrono::steady_clock::now() +
                                  std::chrono::milliseconds(1));
      }
    });
    begun.wait();
    const WakeTogether together;
    word->store(kDone);
    word->wake();
    sleeper.join();
    word.reset();
  }
}

// A callback may wait for another thread that the same outcome wakes.
TEST(WakeTogether, WakesBeforeACallbackIsRun) {
  for (int i = 0; i < 100; ++i) {
    Promise<void> first;
    Promise<void> second;
    std::latch has_first(1);
    std::latch begun(1);
    second.future().then([&](const Status&) { has_first.wait(); });
    std::thread waiter([&, future = first.future()] {
      begun.count_down();
      EXPECT_TRUE(future.wait().ok());
      has_first.count_down();
    });
    begun.wait();
    {
      const WakeTogether together;
      first.set(Status());
      second.set(Status());
    }
    waiter.join();
  }
}

TEST(WakeTogether, MayBeOneInAnother) {
  FutexWord inner_word;
  FutexWord outer_word;
  std::thread inner_sleeper([&] { sleep_until_done(inner_word); });
  std::thread outer_sleeper([&] { sleep_until_done(outer_word); });
  {
    const WakeTogether outer;
    outer_word.store(kDone);
    outer_word.wake();
    {
      const WakeTogether inner;
      inner_word.store(kDone);
      inner_word.wake();
    }
    inner_sleeper.join();
  }
  outer_sleeper.join();
}

}  // namespace
}  // namespace hvd
