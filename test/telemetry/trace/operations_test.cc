// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/trace/operations.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hvd::telemetry {
namespace {

using trace::BatchEnd;
using trace::EventKind;

class OperationsTest : public ::testing::Test {
 protected:
  void add(EventKind kind, std::uint32_t name = 0, std::uint64_t ticks = 0) {
    operations_.add({.ticks = ticks, .kind = kind, .name = name});
  }
  void begin(std::uint32_t name) {
    operations_.add({.kind = EventKind::kBatchBegins, .value = 7});
    operations_.add({.kind = EventKind::kBatchEntry, .name = name, .value = 4});
  }
  void end(BatchEnd how = BatchEnd::kDone) {
    operations_.add({.kind = EventKind::kBatchEnds,
                     .detail = static_cast<std::uint8_t>(how),
                     .value = 7});
  }
  void batch(std::uint32_t name, BatchEnd how = BatchEnd::kDone) {
    begin(name);
    end(how);
  }
  const std::vector<Operation>& ended() {
    return operations_.ended().operations;
  }

  Operations operations_;
};

TEST_F(OperationsTest, EndWithTheirBatch) {
  add(EventKind::kSubmitted, 1, 5);
  const std::uint64_t id = operations_.current()->id;
  EXPECT_EQ(operations_.in_flight(), 1u);
  begin(1);
  EXPECT_EQ(operations_.current()->id, id);
  EXPECT_TRUE(operations_.are_executed());
  EXPECT_EQ(operations_.open()->operations.size(), 1u);
  end();
  ASSERT_EQ(ended().size(), 1u);
  EXPECT_EQ(ended()[0].id, id);
  EXPECT_EQ(ended()[0].submitted, 5u);
  EXPECT_EQ(ended()[0].batch, 7u);
  EXPECT_EQ(ended()[0].bytes, 4u);
  EXPECT_EQ(operations_.in_flight(), 0u);
  EXPECT_FALSE(operations_.are_executed());
  add(EventKind::kStepEnds);
  EXPECT_TRUE(ended().empty());
}

TEST_F(OperationsTest, ABatchHasThePlaneOfItsLargestCall) {
  begin(1);
  for (const std::uint16_t plane : std::vector<std::uint16_t>{3, 4, 5}) {
    operations_.add({.kind = EventKind::kCallBegins,
                     .label = plane,
                     .value = plane == 4 ? 8u : 0u});
  }
  end();
  EXPECT_EQ(operations_.ended().plane, 4);
}

TEST_F(OperationsTest, OthersOperationsAreNotInFlightHere) {
  batch(1);
  ASSERT_EQ(ended().size(), 1u);
  EXPECT_FALSE(ended()[0].submitted.has_value());
  begin(1);
  EXPECT_EQ(operations_.in_flight(), 0u);
}

TEST_F(OperationsTest, OfAnAbandonedBatchComeAgainWithTheirSubmission) {
  add(EventKind::kSubmitted, 1, 5);
  add(EventKind::kSubmitted, 1, 6);
  batch(1, BatchEnd::kAbandoned);
  EXPECT_EQ(ended().size(), 1u);
  EXPECT_EQ(operations_.in_flight(), 2u);
  batch(1);
  EXPECT_EQ(ended()[0].submitted, 5u);
}

TEST_F(OperationsTest, AreAwaitedUntilTheyEnd) {
  add(EventKind::kSubmitted, 1);
  add(EventKind::kSubmitted, 2);
  EXPECT_FALSE(operations_.are_awaited());
  add(EventKind::kAwaited, 2, 9);
  batch(1);
  EXPECT_TRUE(operations_.are_awaited());
  batch(2);
  EXPECT_FALSE(operations_.are_awaited());
  EXPECT_EQ(ended()[0].awaited, 9u);
}

TEST_F(OperationsTest, OfOneNameAreAwaitedOneByOne) {
  for (int i = 0; i < 2; ++i) {
    add(EventKind::kSubmitted, 1);
    add(EventKind::kAwaited, 1);
  }
  batch(1);
  EXPECT_TRUE(operations_.are_awaited());
  batch(1);
  EXPECT_FALSE(operations_.are_awaited());
}

TEST_F(OperationsTest, AreNotAwaitedOnceTheyHaveEnded) {
  add(EventKind::kSubmitted, 1);
  batch(1);
  add(EventKind::kAwaited, 1);
  EXPECT_FALSE(operations_.are_awaited());
}

TEST_F(OperationsTest, AreInFlightWhileABatchIsAbandonedOrWorksOnAGpu) {
  add(EventKind::kSubmitted, 1);
  add(EventKind::kAwaited, 1);
  batch(1, BatchEnd::kAbandoned);
  EXPECT_TRUE(operations_.are_awaited());
  EXPECT_FALSE(operations_.are_executed());
  batch(1, BatchEnd::kGoesOnOnGpu);
  EXPECT_TRUE(operations_.are_awaited());
  EXPECT_TRUE(operations_.are_executed());
  EXPECT_TRUE(ended().empty());
  operations_.add({.kind = EventKind::kWorkEnds, .value = 7});
  EXPECT_FALSE(operations_.are_awaited());
  EXPECT_EQ(ended().size(), 1u);
}

TEST_F(OperationsTest, AllEndWithTheJob) {
  add(EventKind::kSubmitted, 1);
  add(EventKind::kAwaited, 1);
  add(EventKind::kSubmitted, 2);
  begin(2);
  add(EventKind::kJobBreaks);
  EXPECT_EQ(ended().size(), 2u);
  EXPECT_EQ(operations_.in_flight(), 0u);
  EXPECT_FALSE(operations_.are_awaited());
  EXPECT_FALSE(operations_.are_executed());
}

TEST_F(OperationsTest, UnknownEndsDoNoHarm) {
  end();
  add(EventKind::kBatchEntry, 9);
  add(EventKind::kRefused, 9);
  add(EventKind::kAwaited, 9);
  operations_.add({.kind = EventKind::kWorkEnds, .value = 9});
  operations_.add({.kind = EventKind::kCallBegins, .label = 3, .value = 1});
  EXPECT_TRUE(ended().empty());
  EXPECT_EQ(operations_.open(), nullptr);
}

}  // namespace
}  // namespace hvd::telemetry
