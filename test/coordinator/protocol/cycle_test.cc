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

TEST(Cycle, AnEarlySubmissionWaitsForItsTurn) {
  Cycle cycle = two_batches();
  cycle.submitted(7);
  EXPECT_FALSE(cycle.head_is_ready());
  cycle.submitted(5);
  cycle.submitted(6);
  cycle.enter_head();
  EXPECT_THAT(cycle.head(), ElementsAre(7u));
  EXPECT_TRUE(cycle.head_is_ready());
}

TEST(Cycle, BeginsAgainAfterItsLastBatch) {
  Cycle cycle = two_batches();
  for (std::uint64_t round = 0; round < 3; ++round) {
    EXPECT_EQ(cycle.entered(), 2 * round);
    for (const std::uint32_t id : {7u, 6u, 5u}) cycle.submitted(id);
    EXPECT_TRUE(cycle.head_is_ready());
    cycle.enter_head();
    EXPECT_TRUE(cycle.head_is_ready());
    cycle.enter_head();
    EXPECT_THAT(cycle.head(), ElementsAre(5u, 6u));
    EXPECT_FALSE(cycle.head_is_ready());
  }
}

// A rank submits the first batch anew while it executes the last.
TEST(Cycle, ASubmissionAfterItsBatchWasEnteredIsForTheNextRound) {
  Cycle cycle = two_batches();
  cycle.submitted(5);
  cycle.submitted(6);
  cycle.enter_head();
  cycle.submitted(5);
  cycle.submitted(6);
  EXPECT_FALSE(cycle.head_is_ready());
  cycle.submitted(7);
  cycle.enter_head();
  EXPECT_TRUE(cycle.head_is_ready());
}

TEST(Cycle, RestartingResetsIt) {
  Cycle cycle = two_batches();
  for (const std::uint32_t id : {5u, 6u, 7u}) cycle.submitted(id);
  cycle.enter_head();
  cycle.restart();
  EXPECT_EQ(cycle.entered(), 0u);
  EXPECT_EQ(cycle.missing(), 2u);
  EXPECT_THAT(cycle.head(), ElementsAre(5u, 6u));
  EXPECT_EQ(cycle.hash(), two_batches().hash());
}

TEST(Cycle, OfOneOperationRepeatsWithEachSubmission) {
  Cycle cycle;
  cycle.add(3, true);
  EXPECT_EQ(cycle.batches(), 1u);
  for (std::uint64_t round = 0; round < 5; ++round) {
    EXPECT_FALSE(cycle.head_is_ready());
    cycle.submitted(3);
    EXPECT_TRUE(cycle.head_is_ready());
    cycle.enter_head();
    EXPECT_EQ(cycle.entered(), round + 1);
  }
}

TEST(Cycle, KnowsItsOperations) {
  const Cycle cycle = two_batches();
  EXPECT_EQ(cycle.batches(), 2u);
  EXPECT_TRUE(cycle.contains(6));
  EXPECT_FALSE(cycle.contains(4));
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

TEST(Cycle, ExecutionDoesNotChangeTheHash) {
  Cycle cycle = two_batches();
  cycle.submitted(5);
  cycle.submitted(6);
  cycle.enter_head();
  EXPECT_EQ(cycle.hash(), two_batches().hash());
}

}  // namespace
}  // namespace hvd::coordinator
