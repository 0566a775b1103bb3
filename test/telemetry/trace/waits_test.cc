// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/trace/waits.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hvd::telemetry {
namespace {

using trace::BatchEnd;
using trace::EventKind;

class WaitsTest : public ::testing::Test {
 protected:
  void add(EventKind kind, std::uint32_t name = 0) {
    waits_.add({.kind = kind, .name = name});
  }
  void batch(std::uint32_t name, BatchEnd how = BatchEnd::kDone) {
    add(EventKind::kBatchBegins, 1);
    add(EventKind::kBatchEntry, name);
    waits_.add({.kind = EventKind::kBatchEnds,
                .detail = static_cast<std::uint8_t>(how),
                .value = 7});
  }
  Waits waits_;
};

TEST_F(WaitsTest, LastUntilTheBatchOfTheOperation) {
  add(EventKind::kSubmitted, 1);
  add(EventKind::kSubmitted, 2);
  EXPECT_FALSE(waits_.is_any());
  add(EventKind::kAwaited, 2);
  batch(1);
  EXPECT_TRUE(waits_.is_any());
  batch(2);
  EXPECT_FALSE(waits_.is_any());
}

TEST_F(WaitsTest, OperationsOfOneNameAreCounted) {
  for (int i = 0; i < 2; ++i) {
    add(EventKind::kSubmitted, 1);
    add(EventKind::kAwaited, 1);
  }
  batch(1);
  EXPECT_TRUE(waits_.is_any());
  batch(1);
  EXPECT_FALSE(waits_.is_any());
}

TEST_F(WaitsTest, AWaitForACompletedOperationIsNone) {
  add(EventKind::kSubmitted, 1);
  batch(1);
  add(EventKind::kAwaited, 1);
  EXPECT_FALSE(waits_.is_any());
}

TEST_F(WaitsTest, LastWhileABatchIsAbandonedOrWorksOnAGpu) {
  add(EventKind::kSubmitted, 1);
  add(EventKind::kAwaited, 1);
  batch(1, BatchEnd::kAbandoned);
  EXPECT_TRUE(waits_.is_any());
  batch(1, BatchEnd::kGoesOnOnGpu);
  EXPECT_TRUE(waits_.is_any());
  waits_.add({.kind = EventKind::kWorkEnds, .value = 7});
  EXPECT_FALSE(waits_.is_any());
}

TEST_F(WaitsTest, EndWithTheJob) {
  add(EventKind::kSubmitted, 1);
  add(EventKind::kAwaited, 1);
  add(EventKind::kJobBreaks);
  EXPECT_FALSE(waits_.is_any());
}

}  // namespace
}  // namespace hvd::telemetry
