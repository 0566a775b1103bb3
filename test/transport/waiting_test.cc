// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/waiting.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "horovodpp/core/status.h"
#include "test/transport/never_interrupt.h"

namespace hvd::transport {
namespace {

// Fails once told to.
class RaisedInterrupt : public Interrupt {
 public:
  absl::Status check() override {
    return broken.load() ? absl::AbortedError("rank 3 is gone")
                         : absl::OkStatus();
  }
  std::atomic<bool> broken = false;
};

constexpr WaitPolicy kSleepAtOnce = {.spin = std::chrono::nanoseconds(0),
                                     .yields = 0};

TEST(WaitUntil, ReturnsAtOnceIfReady) {
  NeverInterrupt interrupt;
  Doorbell bell;
  EXPECT_TRUE(wait_until([] { return true; }, interrupt, {}, bell).ok());
}

TEST(WaitUntil, EveryPolicySeesAFlagAndItsRing) {
  for (const WaitPolicy& policy :
       {WaitPolicy{}, kSleepAtOnce,
        WaitPolicy{.spin = std::chrono::nanoseconds(0), .yields = 1000},
        WaitPolicy{.spin = std::chrono::seconds(10)}, WaitPolicy::for_node(1),
        WaitPolicy::for_node(1000)}) {
    NeverInterrupt interrupt;
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
          wait_until([&] { return step.load() >= i; }, interrupt, policy, bell)
              .ok());
    }
    ringer.join();
  }
}

TEST(WaitUntil, ANapNoticesAnUnrungChange) {
  NeverInterrupt interrupt;
  Doorbell bell;
  std::atomic<bool> flag = false;
  WaitPolicy policy = kSleepAtOnce;
  policy.max_sleep = std::chrono::milliseconds(1);
  std::thread silent([&] { flag.store(true); });
  EXPECT_TRUE(
      wait_until([&] { return flag.load(); }, interrupt, policy, bell).ok());
  silent.join();
}

TEST(WaitUntil, ReturnsTheInterruptsErrorInEveryPhase) {
  for (const WaitPolicy& policy :
       {kSleepAtOnce, WaitPolicy{.spin = std::chrono::hours(1)},
        WaitPolicy{.spin = std::chrono::nanoseconds(0),
        .yields = 1'000'000'000}}) {
    RaisedInterrupt interrupt;
    Doorbell bell;
    std::thread breaker([&] {
      interrupt.broken.store(true);
      bell.ring();
    });
    const absl::Status status =
        wait_until([] { return false; }, interrupt, policy, bell);
    breaker.join();
    EXPECT_TRUE(absl::IsAborted(status)) << status;
  }
}

TEST(WaitUntil, ReadinessWinsOverTheInterrupt) {
  RaisedInterrupt interrupt;
  interrupt.broken.store(true);
  Doorbell bell;
  EXPECT_TRUE(
      wait_until([] { return true; }, interrupt, kSleepAtOnce, bell).ok());
}

TEST(WaitPolicy, YieldsTheCoreIfRanksOutnumberCores) {
  EXPECT_EQ(WaitPolicy::for_node(CPU_SETSIZE + 1).spin.count(), 0);
  EXPECT_GT(WaitPolicy::for_node(CPU_SETSIZE + 1).yields, 0);
  EXPECT_GT(WaitPolicy::for_node(1).spin.count(), 0);
  for (const int ranks : {1, CPU_SETSIZE + 1}) {
    const WaitPolicy node = WaitPolicy::for_node(ranks);
    const WaitPolicy wires = WaitPolicy::for_network(ranks);
    EXPECT_EQ(wires.spin, node.spin);
    EXPECT_GT(wires.yields, node.yields);
  }
}

}  // namespace
}  // namespace hvd::transport
