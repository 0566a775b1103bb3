// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/host_back_off.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;

class HostBackOffTest : public testing::Test {
 protected:
  // Lets the host fail, and returns for how long it gets no newcomers.
  Clock::Duration cooldown_of(HostBackOff& hosts) {
    hosts.failed("a", now_);
    const Clock::TimePoint begin = now_;
    if (hosts.next_end(now_) < Clock::TimePoint::max()) {
      now_ = hosts.next_end(now_);
      EXPECT_FALSE(hosts.allows("a", now_ - 1ms));
    }
    EXPECT_TRUE(hosts.allows("a", now_));
    return now_ - begin;
  }

  Clock::TimePoint now_{};
};

TEST_F(HostBackOffTest, DoublesTheTimeUpToTheLongest) {
  HostBackOff hosts({.shortest = 1s, .longest = 6s}, 1);
  for (const Clock::Duration time : {1s, 2s, 4s, 6s, 6s}) {
    EXPECT_EQ(cooldown_of(hosts), time);
  }
}

TEST_F(HostBackOffTest, IsOfEachHost) {
  HostBackOff hosts({}, 1);
  hosts.failed("a", now_);
  EXPECT_FALSE(hosts.allows("a", now_));
  EXPECT_TRUE(hosts.allows("b", now_));
}

TEST_F(HostBackOffTest, CountsFailuresDuringACooldownOnce) {
  HostBackOff hosts({.shortest = 1s, .longest = 60s}, 1);
  hosts.failed("a", now_);
  hosts.failed("a", now_ + 500ms);
  EXPECT_EQ(hosts.next_end(now_), now_ + 1s);
  now_ += 1s;
  EXPECT_EQ(cooldown_of(hosts), 2s);
}

TEST_F(HostBackOffTest, ForgetsFailures) {
  HostBackOff hosts({.shortest = 1s, .longest = 60s}, 1);
  cooldown_of(hosts);
  cooldown_of(hosts);
  hosts.forget("a");
  EXPECT_EQ(cooldown_of(hosts), 1s);
  EXPECT_EQ(cooldown_of(hosts), 2s);
  now_ += 60s;
  EXPECT_EQ(cooldown_of(hosts), 1s);
}

TEST_F(HostBackOffTest, IsRandomToAPartWithinItsRange) {
  const Cooldown cooldown = {
      .shortest = 10s, .longest = 35s, .after_any_failure = true};
  bool any_differ = false;
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    HostBackOff hosts(cooldown, seed);
    const Clock::Duration first = cooldown_of(hosts);
    EXPECT_GE(first, 10s);
    EXPECT_LE(first, 20s);
    any_differ = any_differ || first != 10s;
    EXPECT_LE(cooldown_of(hosts), 30s);
    EXPECT_EQ(cooldown_of(hosts), 35s);
  }
  EXPECT_TRUE(any_differ);
}

}  // namespace
}  // namespace hvd::launcher
