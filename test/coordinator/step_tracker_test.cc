// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/step_tracker.h"

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

TEST(StepTracker, WhatComesAfterAWholeStepIsPartOfIt) {
  StepTracker tracker;
  for (const std::uint32_t id : {1u, 2u, 1u, 2u, 3u}) tracker.ran(id);
  EXPECT_EQ(tracker.equal(), 0);
  EXPECT_THAT(tracker.in_current(),
              ::testing::UnorderedElementsAre(1u, 2u, 3u));
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
