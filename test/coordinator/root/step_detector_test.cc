// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/step_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;

void run(StepDetector& detector, const std::vector<std::uint32_t>& ids) {
  for (const std::uint32_t id : ids) detector.ran(id);
}

// The number of these steps until they count as repeated, or 0 if more than
// 1000.
int steps_until_repeated(StepDetector& detector,
                         const std::vector<std::uint32_t>& ids) {
  for (int steps = 1; steps <= 1000; ++steps) {
    run(detector, ids);
    if (!detector.repeated().empty()) return steps;
  }
  return 0;
}

TEST(StepDetector, SeesThreeEqualSteps) {
  StepDetector detector(3);
  run(detector, {1, 2});
  run(detector, {1, 2});
  EXPECT_THAT(detector.repeated(), IsEmpty());
  run(detector, {1, 2});
  EXPECT_THAT(detector.repeated(), ElementsAre(1u, 2u));
}

TEST(StepDetector, TheOrderWithinAStepMayVaryAndTheLastCounts) {
  StepDetector detector(3);
  run(detector, {1, 2, 3});
  run(detector, {3, 1, 2});
  run(detector, {2, 3, 1});
  EXPECT_THAT(detector.repeated(), ElementsAre(2u, 3u, 1u));
}

TEST(StepDetector, ReportsNoOrderInTheMiddleOfAStep) {
  StepDetector detector(2);
  run(detector, {1, 2, 1, 2, 1, 2});
  ASSERT_THAT(detector.repeated(), ElementsAre(1u, 2u));
  detector.ran(1);
  EXPECT_THAT(detector.repeated(), IsEmpty());
  detector.ran(2);
  EXPECT_THAT(detector.repeated(), ElementsAre(1u, 2u));
}

TEST(StepDetector, OneOperationIsAStep) {
  StepDetector detector(3);
  EXPECT_EQ(steps_until_repeated(detector, {4}), 3);
}

TEST(StepDetector, AnotherStepRestartsTheCount) {
  StepDetector detector(3);
  run(detector, {1, 2, 1, 2});
  run(detector, {1, 3});
  run(detector, {1, 2, 1, 2});
  EXPECT_THAT(detector.repeated(), IsEmpty());
  EXPECT_NE(steps_until_repeated(detector, {1, 2}), 0);
}

TEST(StepDetector, ADisturbanceRestartsTheCount) {
  StepDetector detector(3);
  run(detector, {1, 2, 1, 2});
  detector.disturb();
  run(detector, {1, 2, 1, 2});
  EXPECT_THAT(detector.repeated(), IsEmpty());
  run(detector, {1, 2});
  EXPECT_THAT(detector.repeated(), ElementsAre(1u, 2u));
}

TEST(StepDetector, StepsDisturbedEachTimeAreNeverRepeated) {
  StepDetector detector(3);
  for (int step = 0; step < 100; ++step) {
    run(detector, {1, 2});
    detector.disturb();
    EXPECT_THAT(detector.repeated(), IsEmpty());
  }
}

TEST(StepDetector, ZeroStepsDisableIt) {
  StepDetector detector(0);
  EXPECT_EQ(steps_until_repeated(detector, {1, 2}), 0);
}

TEST(StepDetector, OneStepIsEnoughIfConfigured) {
  StepDetector detector(1);
  EXPECT_NE(steps_until_repeated(detector, {1, 2}), 0);
}

TEST(StepDetector, AfterAnOrderOfLittleUseItWaitsLonger) {
  StepDetector detector(3);
  int waited = steps_until_repeated(detector, {1, 2});
  for (int tries = 0; tries < 5; ++tries) {
    detector.begin();
    detector.followed(1, {});
    const int longer = steps_until_repeated(detector, {1, 2});
    EXPECT_GT(longer, waited);
    waited = longer;
  }
}

TEST(StepDetector, TheWaitHasALimit) {
  StepDetector detector(3);
  for (int tries = 0; tries < 20; ++tries) {
    ASSERT_NE(steps_until_repeated(detector, {1, 2}), 0);
    detector.begin();
    detector.followed(1, {});
  }
  EXPECT_LE(steps_until_repeated(detector, {1, 2}), 260);
}

TEST(StepDetector, AfterAnOrderOfUseItWaitsAsLittleAsAtFirst) {
  StepDetector detector(3);
  const int first = steps_until_repeated(detector, {1, 2});
  detector.begin();
  detector.followed(1, {});
  steps_until_repeated(detector, {1, 2});
  detector.begin();
  detector.followed(1000, {});
  EXPECT_LE(steps_until_repeated(detector, {1, 2}), first);
}

TEST(StepDetector, OccasionalDisturbancesLetAnOrderComeBack) {
  constexpr int kSteps = 10;  // From one barrier to the next.
  StepDetector detector(3);
  for (int barriers = 0; barriers < 20; ++barriers) {
    const int waited = steps_until_repeated(detector, {1, 2});
    ASSERT_THAT(waited, AllOf(Ge(1), Le(4)));
    detector.begin();
    detector.disturb();
    detector.followed(static_cast<std::uint64_t>(kSteps - waited), {});
  }
}

TEST(StepDetector, AFailedOrderIsRetriedWithTheLastBatches) {
  StepDetector detector(3);
  const int first = steps_until_repeated(detector, {1, 2});
  EXPECT_EQ(detector.batch_ends(), nullptr);
  detector.begin();
  detector.followed(0, {});
  EXPECT_LE(steps_until_repeated(detector, {1, 2}), first);
  ASSERT_NE(detector.batch_ends(), nullptr);
  EXPECT_THAT(*detector.batch_ends(), ElementsAre(true, true));
  detector.begin();
  detector.followed(100, {});
  // Other steps have no known batches.
  EXPECT_NE(steps_until_repeated(detector, {3, 4}), 0);
  EXPECT_EQ(detector.batch_ends(), nullptr);
}

TEST(StepDetector, BatchesAreAsTheyWereInTheLastStep) {
  StepDetector detector(1);
  run(detector, {1, 2, 3, 1, 2, 3});
  detector.begin();
  detector.followed(0, {});
  while (detector.repeated().empty()) {
    detector.ran(1, false);
    detector.ran(2, true);
    detector.ran(3, true);
  }
  EXPECT_THAT(*detector.batch_ends(), ElementsAre(false, true, true));
}

TEST(StepDetector, AnOrderThatWasNeverFollowedIsTriedOnceMoreMuchLater) {
  StepDetector detector(3);
  const int first = steps_until_repeated(detector, {1, 2});
  ASSERT_NE(first, 0);
  detector.begin();
  detector.followed(0, {});
  ASSERT_NE(steps_until_repeated(detector, {1, 2}), 0);
  detector.begin();
  detector.followed(0, {});
  EXPECT_GT(steps_until_repeated(detector, {1, 2}), 5 * first);
  detector.begin();
  detector.followed(0, {});
  EXPECT_EQ(steps_until_repeated(detector, {1, 2}), 0);
  EXPECT_EQ(steps_until_repeated(detector, {2, 1}), 0);
  EXPECT_THAT(steps_until_repeated(detector, {7, 8}),
              AllOf(Ge(first), Le(first + 1)));
}

TEST(StepDetector, ADisturbedOrderCountsAsTried) {
  StepDetector detector(3);
  for (int tries = 0; tries < 2; ++tries) {
    ASSERT_NE(steps_until_repeated(detector, {1, 2}), 0);
    detector.begin();
    detector.disturb();
    detector.followed(0, {});
  }
  EXPECT_EQ(steps_until_repeated(detector, {1, 2}), 0);
}

TEST(StepDetector, ARefusedOrderDelaysNoOther) {
  StepDetector detector(3);
  const int first = steps_until_repeated(detector, {1});
  ASSERT_NE(first, 0);
  detector.refuse();
  EXPECT_EQ(steps_until_repeated(detector, {1}), 0);
  EXPECT_THAT(steps_until_repeated(detector, {2, 3}),
              AllOf(Ge(first), Le(first + 1)));
}

// A program with an occasional extra operation.
class StepDetectorInterrupted : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(steps_until_repeated(detector_, {1, 2}), 0);
    detector_.begin();
  }
  StepDetector detector_{3};
};

TEST_F(StepDetectorInterrupted, TheOrderGoesOnOnceTheCauseAndTheStepHaveRun) {
  detector_.followed(9, {1});
  EXPECT_FALSE(detector_.may_resume());
  detector_.ran(7);
  EXPECT_FALSE(detector_.may_resume());
  detector_.ran(2);
  EXPECT_TRUE(detector_.may_resume());
  EXPECT_THAT(detector_.repeated(), IsEmpty());
  detector_.resume();
  EXPECT_FALSE(detector_.may_resume());
}

TEST_F(StepDetectorInterrupted, BetweenStepsOnlyTheCauseHasToRun) {
  detector_.followed(9, {});
  EXPECT_FALSE(detector_.may_resume());
  detector_.ran_once();
  EXPECT_TRUE(detector_.may_resume());
  // Several causes in a row are one interruption.
  detector_.ran(7);
  detector_.ran(8);
  EXPECT_TRUE(detector_.may_resume());
  // Also if they come after the next step has begun.
  detector_.ran(2);
  EXPECT_FALSE(detector_.may_resume());
  detector_.ran(1);
  EXPECT_TRUE(detector_.may_resume());
}

TEST_F(StepDetectorInterrupted, WithoutACauseItsOrderIsInDoubt) {
  detector_.followed(9, {1});
  run(detector_, {2, 1, 2});
  EXPECT_FALSE(detector_.may_resume());
  detector_.ran(7);
  EXPECT_FALSE(detector_.may_resume());
}

TEST_F(StepDetectorInterrupted, AStepThatIsNeverCompleteIsAnotherOne) {
  detector_.followed(9, {});
  EXPECT_NE(steps_until_repeated(detector_, {1, 7}), 0);
  EXPECT_FALSE(detector_.may_resume());
  EXPECT_THAT(detector_.repeated(), ElementsAre(1u, 7u));
}

TEST_F(StepDetectorInterrupted, OnlyRetiringAnIdOfTheOrderEndsIt) {
  detector_.retired(7);
  detector_.followed(9, {});
  detector_.retired(8);
  detector_.ran(9);
  EXPECT_TRUE(detector_.may_resume());
  detector_.retired(2);
  EXPECT_FALSE(detector_.may_resume());
  EXPECT_NE(steps_until_repeated(detector_, {1, 2}), 0);
}

TEST_F(StepDetectorInterrupted, ADisturbanceEndsItForGood) {
  detector_.disturb();
  detector_.followed(9, {});
  detector_.ran(7);
  EXPECT_FALSE(detector_.may_resume());
}

TEST_F(StepDetectorInterrupted, AnInterruptionInEveryStepIsPartOfTheStep) {
  int interruptions = 0;
  while (true) {
    detector_.followed(1, {});
    detector_.ran(7);
    if (!detector_.may_resume()) break;
    detector_.resume();
    ASSERT_LE(++interruptions, 20);
  }
  EXPECT_NE(steps_until_repeated(detector_, {1, 2, 7}), 0);
  EXPECT_THAT(detector_.repeated(), ElementsAre(1u, 2u, 7u));
}

TEST_F(StepDetectorInterrupted, OccasionalInterruptionsLetItResume) {
  for (int i = 0; i < 1000; ++i) {
    detector_.followed(2, {1});
    run(detector_, {2, 7});
    ASSERT_TRUE(detector_.may_resume());
    detector_.resume();
  }
}

// A program that changes its step, as from training to validation. Like the
// root, it makes a repeated step an order at once. Returns the number of steps
// outside of orders.
class Program {
 public:
  int repeat(const std::vector<std::uint32_t>& step, int times) {
    int outside = 0;
    for (int i = 0; i < times; ++i) {
      if (order_.empty() && step == begun_ && detector_.may_resume()) {
        detector_.resume();
        order_ = begun_;
      }
      if (order_ == step) {
        ++followed_;
        continue;
      }
      if (!order_.empty()) leave();
      ++outside;
      run(detector_, step);
      if (detector_.repeated().empty()) continue;
      order_ = begun_ = detector_.repeated();
      detector_.begin();
    }
    return outside;
  }

 private:
  void leave() {
    order_.clear();
    detector_.followed(std::exchange(followed_, 0), {});
  }

  StepDetector detector_{3};
  std::vector<std::uint32_t> begun_;
  std::vector<std::uint32_t> order_;
  std::uint64_t followed_ = 0;
};

TEST(StepDetectorProgram, ANewPhaseGetsAnOrderAsSoonAsTheFirst) {
  Program program;
  const int first = program.repeat({1, 2}, 100);
  EXPECT_EQ(first, 3);
  EXPECT_EQ(program.repeat({7}, 100), first);
  EXPECT_EQ(program.repeat({8, 9}, 100), first);
  EXPECT_EQ(program.repeat({7, 8}, 100), first);
}

TEST(StepDetectorProgram, APartOfAnOrderThatGoesOnAloneGetsOne) {
  Program program;
  program.repeat({1, 2}, 100);
  EXPECT_LE(program.repeat({1}, 100), 6);
  EXPECT_LE(program.repeat({1, 2}, 100), 6);
}

TEST(StepDetectorProgram, AnOrderThatComesBackIsKnownAfterAStep) {
  Program program;
  program.repeat({1, 2}, 100);
  program.repeat({7}, 50);
  for (int epoch = 0; epoch < 10; ++epoch) {
    EXPECT_EQ(program.repeat({1, 2}, 100), 1) << epoch;
    EXPECT_EQ(program.repeat({7}, 50), 1) << epoch;
  }
}

TEST(StepDetectorProgram, AnOccasionalMetricIsNoOtherProgram) {
  for (const int steps : {10, 100}) {
    Program program;
    program.repeat({1, 2}, steps);
    int outside = 0;
    for (int i = 0; i < 20; ++i) {
      program.repeat({7}, 1);
      outside += program.repeat({1, 2}, steps);
    }
    EXPECT_LE(outside, 20) << steps;
  }
}

// A known order that no longer fits is learned anew.
TEST(StepDetectorProgram, AKnownOrderThatHasGrownIsLearnedAgain) {
  Program program;
  program.repeat({1, 2}, 100);
  program.repeat({7}, 100);
  EXPECT_LE(program.repeat({1, 2, 3}, 100), 8);
  EXPECT_EQ(program.repeat({1, 2, 3}, 100), 0);
}

TEST(StepDetectorProgram, TakingTurnsStepByStepIsOneStepOfBoth) {
  Program program;
  int outside = 0;
  for (int i = 0; i < 3; ++i) outside += program.repeat({1, 7}, 1);
  EXPECT_EQ(outside, 3);
  EXPECT_EQ(program.repeat({1, 7}, 100), 0);
}

// An order that begins in the middle of a step would fuse across the step's
// end, where the program waits.
TEST(StepDetector, AStepThatGrowsIsSeenWhole) {
  StepDetector detector(3);
  run(detector, {1, 2, 1, 2, 1, 2, 1, 2});
  EXPECT_NE(steps_until_repeated(detector, {1, 2, 3}), 0);
  EXPECT_THAT(detector.repeated(), ElementsAre(1u, 2u, 3u));
}

TEST(StepDetector, AStepThatShrinksIsSeenWhole) {
  StepDetector detector(3);
  run(detector, {1, 2, 3, 1, 2, 3, 1, 2, 3});
  EXPECT_NE(steps_until_repeated(detector, {1, 2}), 0);
  EXPECT_THAT(detector.repeated(), ElementsAre(1u, 2u));
}

}  // namespace
}  // namespace hvd::coordinator
