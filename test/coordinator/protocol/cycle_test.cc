// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/cycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;

// Batches {5, 6} and {7}.
Cycle two_batches() {
  Cycle cycle;
  cycle.add(5, false);
  cycle.add(6, true);
  cycle.add(7, true);
  return cycle;
}

TEST(Cycle, ItsHeadIsReadyOnceSubmitted) {
  Cycle cycle = two_batches();
  EXPECT_THAT(cycle.head(), ElementsAre(5u, 6u));
  EXPECT_FALSE(cycle.head_is_ready());
  cycle.submitted(6);
  EXPECT_FALSE(cycle.head_is_ready());
  cycle.submitted(5);
  EXPECT_TRUE(cycle.head_is_ready());
}

TEST(Cycle, TheHashDistinguishesOrdersAndBoundaries) {
  EXPECT_EQ(two_batches().hash(), two_batches().hash());
  Cycle other_order;
  other_order.add(6, false);
  other_order.add(5, true);
  other_order.add(7, true);
  EXPECT_NE(other_order.hash(), two_batches().hash());
  Cycle other_batches;
  other_batches.add(5, true);
  other_batches.add(6, false);
  other_batches.add(7, true);
  EXPECT_NE(other_batches.hash(), two_batches().hash());
  Cycle shorter;
  shorter.add(5, false);
  shorter.add(6, true);
  EXPECT_NE(shorter.hash(), two_batches().hash());
}

}  // namespace
}  // namespace hvd::coordinator
