// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/step_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StepTracker, CountsStepsOfTheSameOperationsInAnyOrder) {
  StepTracker tracker;
  for (const std::uint32_t id : {1u, 2u, 3u}) EXPECT_FALSE(tracker.ran(id));
  EXPECT_EQ(tracker.equal(), 0);
  EXPECT_FALSE(tracker.ran(2));
  EXPECT_EQ(tracker.equal(), 1);
  EXPECT_FALSE(tracker.is_between_steps());
  EXPECT_FALSE(tracker.ran(3));
  EXPECT_TRUE(tracker.ran(1));
  EXPECT_EQ(tracker.equal(), 2);
  EXPECT_TRUE(tracker.is_between_steps());
  EXPECT_THAT(tracker.last(), ElementsAre(2u, 3u, 1u));
}

TEST(StepTracker, IdsAfterAWholeStepAreItsPart) {
  StepTracker tracker;
  for (const std::uint32_t id : {1u, 2u, 1u, 2u, 3u}) tracker.ran(id);
  EXPECT_EQ(tracker.equal(), 0);
  EXPECT_THAT(tracker.in_current(),
              ::testing::UnorderedElementsAre(1u, 2u, 3u));
}

TEST(StepTracker, CountsHowOftenAnOperationComesInAStep) {
  StepTracker tracker;
  tracker.ran(9);  // Once.
  int steps = 0;
  for (; steps < 20 && tracker.equal() < 4; ++steps) {
    for (const std::uint32_t id : {1u, 2u, 1u, 3u}) tracker.ran(id);
  }
  EXPECT_LT(steps, 16);
  EXPECT_THAT(tracker.last(), ::testing::UnorderedElementsAre(1u, 1u, 2u, 3u));
  EXPECT_FALSE(tracker.is_surplus(1));
  for (int i = 0; i < 2; ++i) tracker.ran(1);
  EXPECT_TRUE(tracker.is_surplus(1));
}

TEST(StepTracker, AStepMayBeginAtAnyOfOperationsThatComeMoreThanOnce) {
  StepTracker tracker;
  tracker.assume({1, 2, 1, 3}, {});
  EXPECT_FALSE(tracker.slide(2, true));
  EXPECT_TRUE(tracker.slide(1, false));
  EXPECT_TRUE(tracker.is_between_steps());
  EXPECT_THAT(tracker.last(), ElementsAre(2u, 1u, 3u, 1u));
  EXPECT_THAT(tracker.batch_ends(), ElementsAre(true, true, true, false));
  tracker.assume({1, 2, 3}, {});
  EXPECT_FALSE(tracker.slide(1, true));
}

TEST(StepTracker, AStepMayBeClosedBeforeTheNextBegins) {
  StepTracker tracker;
  tracker.ran(1);
  tracker.close_step();
  EXPECT_EQ(tracker.equal(), 1);
  EXPECT_THAT(tracker.last(), ElementsAre(1u));
  EXPECT_TRUE(tracker.ran(1));
}

TEST(StepTracker, GoesOnInTheMiddleOfAStepThatIsAssumed) {
  StepTracker tracker;
  tracker.assume({1, 2}, {2});
  EXPECT_FALSE(tracker.is_between_steps());
  EXPECT_TRUE(tracker.ran(1));
  EXPECT_EQ(tracker.equal(), 2);
  tracker.clear();
  EXPECT_EQ(tracker.equal(), 0);
  EXPECT_THAT(tracker.last(), IsEmpty());
}

}  // namespace
}  // namespace hvd::coordinator
