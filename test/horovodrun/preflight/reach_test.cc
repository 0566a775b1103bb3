// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kLoopback = 0x7f000001;

// Runs both until they are done.
void finish(Reach& one, Reach& other) {
  while (!one.is_done() || !other.is_done()) {
    std::vector<pollfd> fds;
    one.add_awaited(&fds);
    other.add_awaited(&fds);
    poll(fds.data(), fds.size(), 20);
    one.advance();
    other.advance();
  }
}

TEST(Reach, FindsTheTargetsThatAnswerWithTheirId) {
  Reach one;
  Reach other;
  ASSERT_NE(one.port(), 0);
  const std::vector<ReachTarget> targets = {
      {0, kLoopback, one.port(), one.id()},
      {1, kLoopback, other.port(), other.id()},
      // The address leads to a wrong host.
      {1, kLoopback, one.port(), other.id()},
      // No process listens there.
      {1, kLoopback, 1, other.id()}};
  one.begin(targets);
  other.begin(targets);
  finish(one, other);
  EXPECT_THAT(one.reached(), UnorderedElementsAre(0, 1));
  EXPECT_THAT(other.reached(), UnorderedElementsAre(0, 1));
}

TEST(Reach, IsDoneWithoutTargets) {
  Reach reach;
  reach.begin({});
  EXPECT_TRUE(reach.is_done());
  EXPECT_THAT(reach.reached(), IsEmpty());
}

// A network for documentation, where no host answers.
TEST(Reach, GivesUpAnAddressThatDoesNotAnswer) {
  Reach one;
  Reach other;
  one.begin({{0, 0xcb007109, 9, "x"}});
  other.begin({});
  finish(one, other);
  EXPECT_THAT(one.reached(), IsEmpty());
}

}  // namespace
}  // namespace hvd::launcher
