// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/doorbell.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "test/transport/child_process.h"

namespace hvd::transport {
namespace {

using Listener = Doorbell::Listener;

constexpr std::chrono::nanoseconds kForEver(-1);

// The state that both sides of a bell share.
struct Shared {
  Doorbell ping;
  Doorbell pong;
  std::atomic<int> pings{0};
  std::atomic<int> pongs{0};
};

void wait_for(std::atomic<int>& count, int goal, Doorbell& bell) {
  while (count.load() < goal) {
    const auto ticket = bell.listen(Listener::kDriver);
    if (count.load() < goal) bell.sleep(Listener::kDriver, ticket, kForEver);
    bell.leave(Listener::kDriver);
  }
}

void serve(Shared& shared, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    wait_for(shared.pings, i, shared.ping);
    shared.pongs.store(i);
    shared.pong.ring();
  }
}

void play(Shared& shared, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    shared.pings.store(i);
    shared.ping.ring();
    wait_for(shared.pongs, i, shared.pong);
  }
}

TEST(Doorbell, LosesNoRingBetweenThreads) {
  Shared shared;
  std::thread server([&] { serve(shared, 5000); });
  play(shared, 5000);
  server.join();
  EXPECT_EQ(shared.pongs.load(), 5000);
}

TEST(Doorbell, LosesNoRingBetweenProcesses) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // All zeros are a valid silent bell without construction.
  Shared& shared = *static_cast<Shared*>(memory);
  ChildProcess child([&] {
    serve(shared, 5000);
    return 0;
  });
  play(shared, 5000);
  EXPECT_EQ(child.exit_code(), 0);
  ::munmap(memory, sizeof(Shared));
}

TEST(Doorbell, WakesEverySleeper) {
  Doorbell bell;
  std::atomic<int> flag = 0;
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 4; ++i) {
    sleepers.emplace_back([&] { wait_for(flag, 1, bell); });
  }
  flag.store(1);
  bell.ring();
  for (std::thread& sleeper : sleepers) sleeper.join();
}

TEST(Doorbell, ARingAfterListeningEndsTheSleepBeforeItBegins) {
  Doorbell bell;
  const auto ticket = bell.listen(Listener::kDriver);
  bell.ring();
  bell.sleep(Listener::kDriver, ticket, kForEver);
  bell.leave(Listener::kDriver);
}

TEST(Doorbell, TheWaitEndsAtItsTimeout) {
  Doorbell bell;
  const auto ticket = bell.listen(Listener::kDriver);
  bell.sleep(Listener::kDriver, ticket, std::chrono::milliseconds(1));
  bell.sleep(Listener::kDriver, ticket, std::chrono::nanoseconds(0));
  bell.leave(Listener::kDriver);
}

TEST(Doorbell, RingsForDataWakeOnlyReaders) {
  Doorbell bell;
  const auto ticket = bell.listen(Listener::kDriver);
  bell.ring_for_data();
  EXPECT_EQ(bell.listen(Listener::kReader), ticket);
  bell.ring_for_data();
  EXPECT_NE(bell.listen(Listener::kRester), ticket);
}

TEST(Doorbell, ReportsAMissedRingOnce) {
  Doorbell bell;
  EXPECT_FALSE(bell.missed());
  bell.ring();
  EXPECT_TRUE(bell.missed());
  EXPECT_FALSE(bell.missed());
  bell.listen(Listener::kRester);
  bell.ring();
  EXPECT_FALSE(bell.missed());
}

// As a driver does for the resting thread.
TEST(Doorbell, PassesOverASleeperThatAnotherHasLeftFor) {
  constexpr int kRounds = 2000;
  Doorbell bell;
  std::atomic<int> flag = 0;
  std::atomic<bool> sleeps = false;
  int seen = 0;
  std::thread rester([&] {
    while (seen < kRounds) {
      const auto ticket = bell.listen(Listener::kRester);
      sleeps.store(true);
      if (flag.load() == seen) bell.sleep(Listener::kRester, ticket, kForEver);
      while (!sleeps.exchange(false)) std::this_thread::yield();
      bell.leave(Listener::kRester);
      seen = flag.load();
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    // Taking `sleeps` keeps the sleeper from leaving by itself.
    while (!sleeps.exchange(false)) std::this_thread::yield();
    bell.leave(Listener::kRester);
    std::thread ringer([&] {
      flag.store(round);
      bell.ring();
    });
    if (round % 2 == 0) ringer.join();
    bell.listen(Listener::kRester);
    const bool missed = bell.missed();
    sleeps.store(true);
    EXPECT_TRUE(missed || round % 2 == 1) << "in round " << round;
    if (missed) bell.ring();
    if (ringer.joinable()) ringer.join();
  }
  rester.join();
}

TEST(Doorbell, ZerosAreASilentBell) {
  alignas(Doorbell) unsigned char memory[sizeof(Doorbell)] = {};
  Doorbell fresh;
  EXPECT_EQ(std::memcmp(memory, &fresh, 8), 0);
}

}  // namespace
}  // namespace hvd::transport
