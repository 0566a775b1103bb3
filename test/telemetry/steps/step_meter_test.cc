// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_meter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hvd::telemetry {
namespace {

using trace::BatchEnd;
using trace::EventKind;

// A tick is a nanosecond.
class StepMeterTest : public ::testing::Test {
 protected:
  void add(const trace::Event& event) {
    operations_.add(event);
    meter_.add(event, operations_);
  }
  void at(std::uint64_t ticks, EventKind kind, std::uint32_t name = 0,
          std::uint64_t value = 0, std::uint8_t detail = 0) {
    add({.ticks = ticks,
         .kind = kind,
         .detail = detail,
         .name = name,
         .value = value});
  }
  // Operation `name` is submitted, and executed from `begin` to `end`.
  void operation(std::uint32_t name, std::uint64_t begin, std::uint64_t end) {
    at(begin, EventKind::kSubmitted, name);
    batch(name, begin, end);
  }
  void batch(std::uint32_t name, std::uint64_t begin, std::uint64_t end,
             BatchEnd how = BatchEnd::kDone) {
    at(begin, EventKind::kBatchBegins, 1, 7);
    at(begin, EventKind::kBatchEntry, name, 100);
    at(end, EventKind::kBatchEnds, 0, 7, static_cast<std::uint8_t>(how));
  }
  void end_step(std::uint64_t ticks) { at(ticks, EventKind::kStepEnds); }

  void span(EventKind kind, std::uint64_t ticks, std::uint16_t label) {
    add({.ticks = ticks, .kind = kind, .label = label});
  }

  Operations operations_;
  std::vector<StepTimes> steps_;
  int jobs_ = 0;
  const std::vector<std::string> labels_ = {"", "data", "snapshot", "backward"};
  StepMeter meter_{{.nanoseconds = [](std::uint64_t ticks) { return ticks; },
                    .label = [this](auto label) { return labels_.at(label); },
                    .step = [this](const StepTimes& s) { steps_.push_back(s); },
                    .job = [this] { ++jobs_; }}};
};

TEST_F(StepMeterTest, DividesAStepIntoWorkWaitsAndHiddenCollectives) {
  end_step(1000);
  operation(1, 1100, 1300);  // No thread waits for it.
  at(1400, EventKind::kSubmitted, 2);
  at(1500, EventKind::kAwaited, 2);
  batch(2, 1550, 1700);
  end_step(2000);
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(steps_[0].nanoseconds, 1000u);
  EXPECT_EQ(steps_[0].hidden, 200u);
  EXPECT_EQ(steps_[0].waited, 200u);
  EXPECT_EQ(steps_[0].bytes, 200u);
  EXPECT_EQ(steps_[0].batches, 2u);
}

TEST_F(StepMeterTest, MeasuresTheLoadOfDataAndSnapshotsApartFromWaits) {
  span(EventKind::kSpanEnds, 900, 1);  // Begun before the first event.
  end_step(1000);
  span(EventKind::kSpanBegins, 1100, 1);
  span(EventKind::kSpanEnds, 1150, 1);
  span(EventKind::kSpanBegins, 1200, 2);
  at(1210, EventKind::kSubmitted, 2);
  at(1210, EventKind::kAwaited, 2);
  batch(2, 1220, 1310);
  span(EventKind::kSpanEnds, 1330, 2);
  span(EventKind::kSpanBegins, 1400, 3);
  span(EventKind::kSpanEnds, 1900, 3);
  end_step(2000);
  EXPECT_EQ(steps_.at(0).data, 50u);
  EXPECT_EQ(steps_.at(0).snapshot, 30u);
  EXPECT_EQ(steps_.at(0).waited, 100u);
}

TEST_F(StepMeterTest, DoesNotCountTheFirstStepWhoseBeginItMissed) {
  operation(1, 100, 200);
  end_step(300);
  EXPECT_TRUE(steps_.empty());
}

TEST_F(StepMeterTest, CountsAnOperationThatIsDoneAtOnceAsAWait) {
  end_step(1000);
  at(1500, EventKind::kDoneAtOnce, 1, trace::pack(40, 4));
  end_step(2000);
  EXPECT_EQ(steps_.at(0).waited, 40u);
  EXPECT_EQ(steps_.at(0).bytes, 4u);
  EXPECT_EQ(steps_.at(0).batches, 1u);
}

TEST_F(StepMeterTest, TwoThreadsThatWaitDoNotCountTwice) {
  end_step(1000);
  for (const std::uint32_t name : {1u, 2u}) {
    at(1100, EventKind::kSubmitted, name);
    at(1100, EventKind::kAwaited, name);
  }
  batch(1, 1200, 1300);
  batch(2, 1300, 1400);
  end_step(2000);
  EXPECT_EQ(steps_.at(0).waited, 300u);
}

// The thread asked before the operation ended, and its event came later.
TEST_F(StepMeterTest, AWaitForACompletedOperationIsNone) {
  end_step(1000);
  operation(1, 1100, 1200);
  at(1201, EventKind::kAwaited, 1);
  end_step(2000);
  EXPECT_EQ(steps_.at(0).waited, 0u);
}

TEST_F(StepMeterTest, WaitsOnWhileABatchIsAbandoned) {
  end_step(1000);
  at(1100, EventKind::kSubmitted, 1);
  at(1100, EventKind::kAwaited, 1);
  batch(1, 1200, 1300, BatchEnd::kAbandoned);
  batch(1, 1400, 1500);
  end_step(2000);
  EXPECT_EQ(steps_.at(0).waited, 400u);
  EXPECT_EQ(steps_.at(0).batches, 1u);
}

TEST_F(StepMeterTest, WaitsForTheEndOfWorkOnAGpu) {
  end_step(1000);
  at(1100, EventKind::kSubmitted, 1);
  at(1100, EventKind::kAwaited, 1);
  batch(1, 1200, 1300, BatchEnd::kGoesOnOnGpu);
  at(1600, EventKind::kWorkEnds, 0, 7);
  end_step(2000);
  EXPECT_EQ(steps_.at(0).waited, 500u);
}

TEST_F(StepMeterTest, AnOperationThatIsRefusedIsNotAwaitedAnyMore) {
  end_step(1000);
  at(1100, EventKind::kSubmitted, 1);
  at(1100, EventKind::kAwaited, 1);
  at(1150, EventKind::kRefused, 1);
  end_step(2000);
  EXPECT_EQ(steps_.at(0).waited, 50u);
}

TEST_F(StepMeterTest, WithoutMarksAStepBeginsWithACycle) {
  for (const std::uint64_t begin : {1000u, 2000u, 3000u}) {
    at(begin, EventKind::kDoneAtOnce, 1, 0, trace::kFirstOfCycle);
    at(begin + 500, EventKind::kDoneAtOnce, 2);
  }
  ASSERT_EQ(steps_.size(), 2u);
  EXPECT_EQ(steps_[1].nanoseconds, 1000u);
  EXPECT_EQ(steps_[1].batches, 2u);
  end_step(3600);  // From now on marks count.
  at(4000, EventKind::kDoneAtOnce, 1, 0, trace::kFirstOfCycle);
  EXPECT_EQ(steps_.size(), 3u);
}

TEST_F(StepMeterTest, ForgetsTheStepInWhichEventsAreMissingOrTheJobBreaks) {
  end_step(1000);
  at(1100, EventKind::kSubmitted, 1);
  at(1100, EventKind::kAwaited, 1);
  operations_.forget();
  meter_.skip();
  end_step(2000);
  EXPECT_TRUE(steps_.empty());
  at(2100, EventKind::kJobBreaks);
  at(2200, EventKind::kJobBegins);
  end_step(2300);
  EXPECT_TRUE(steps_.empty());
  EXPECT_EQ(jobs_, 1);
  end_step(2400);
  EXPECT_EQ(steps_.size(), 1u);
}

}  // namespace
}  // namespace hvd::telemetry
