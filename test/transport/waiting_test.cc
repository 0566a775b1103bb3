#include "horovodpp/transport/waiting.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

class PatientWatch : public Watch {
 public:
  absl::Status check() override { return absl::OkStatus(); }
};

// Fails once told to.
class NervousWatch : public Watch {
 public:
  absl::Status check() override {
    return broken.load() ? absl::AbortedError("rank 3 is gone")
                         : absl::OkStatus();
  }
  std::atomic<bool> broken = false;
};

constexpr WaitPolicy kSleepAtOnce = {.spin = std::chrono::nanoseconds(0),
                                     .yields = 0};

TEST(WaitUntil, ReturnsAtOnceWhatIsReady) {
  PatientWatch watch;
  Doorbell bell;
  EXPECT_TRUE(wait_until([] { return true; }, watch, {}, bell).ok());
}

TEST(WaitUntil, EveryPolicySeesAFlagAndItsRing) {
  for (const WaitPolicy& policy :
       {WaitPolicy{}, kSleepAtOnce,
        WaitPolicy{.spin = std::chrono::nanoseconds(0), .yields = 1000},
        WaitPolicy{.spin = std::chrono::seconds(10)}, WaitPolicy::for_node(1),
        WaitPolicy::for_node(1000)}) {
    PatientWatch watch;
    Doorbell bell;
    std::atomic<int> step = 0;
    std::thread ringer([&] {
      for (int i = 1; i <= 200; ++i) {
        step.store(i);
        bell.ring();
      }
    });
    for (int i = 1; i <= 200; ++i) {
      EXPECT_TRUE(
          wait_until([&] { return step.load() >= i; }, watch, policy, bell)
              .ok());
    }
    ringer.join();
  }
}

TEST(WaitUntil, ANapFindsWhatRangNoBell) {
  PatientWatch watch;
  Doorbell bell;
  std::atomic<bool> flag = false;
  WaitPolicy policy = kSleepAtOnce;
  policy.max_sleep = std::chrono::milliseconds(1);
  std::thread silent([&] { flag.store(true); });
  EXPECT_TRUE(
      wait_until([&] { return flag.load(); }, watch, policy, bell).ok());
  silent.join();
}

TEST(WaitUntil, ReturnsTheWatchsErrorWhereverItWaits) {
  for (const WaitPolicy& policy :
       {kSleepAtOnce, WaitPolicy{.spin = std::chrono::hours(1)},
        WaitPolicy{.spin = std::chrono::nanoseconds(0),
        .yields = 1'000'000'000}}) {
    NervousWatch watch;
    Doorbell bell;
    std::thread breaker([&] {
      watch.broken.store(true);
      bell.ring();
    });
    const absl::Status status =
        wait_until([] { return false; }, watch, policy, bell);
    breaker.join();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
  }
}

TEST(WaitUntil, WhatIsReadyWinsOverTheWatch) {
  NervousWatch watch;
  watch.broken.store(true);
  Doorbell bell;
  EXPECT_TRUE(wait_until([] { return true; }, watch, kSleepAtOnce, bell).ok());
}

TEST(WaitPolicy, GivesTheCoreAwayWhereRanksOutnumberCores) {
  EXPECT_EQ(WaitPolicy::for_node(CPU_SETSIZE + 1).spin.count(), 0);
  EXPECT_GT(WaitPolicy::for_node(CPU_SETSIZE + 1).yields, 0);
  EXPECT_GT(WaitPolicy::for_node(1).spin.count(), 0);
}

}  // namespace
}  // namespace hvd::transport
