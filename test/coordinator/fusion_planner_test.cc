#include "horovodpp/coordinator/fusion_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

using Batches = std::vector<std::vector<std::size_t>>;

Request of_bytes(int bytes, DType dtype = DType::kU8) {
  Request request;
  request.dtype = dtype;
  request.shape = Shape({bytes / static_cast<int>(size_of(dtype))});
  return request;
}

Batches plan(const std::vector<Request>& requests, std::size_t threshold,
             std::size_t max_batch = 100) {
  std::vector<const Request*> ready;
  for (const Request& request : requests) ready.push_back(&request);
  return plan_fusion(ready, threshold, max_batch);
}

TEST(FusionPlanner, PlansNothingForNothing) {
  EXPECT_EQ(plan({}, 100), Batches());
}

TEST(FusionPlanner, FusesUpToTheThreshold) {
  EXPECT_EQ(plan({of_bytes(40), of_bytes(60), of_bytes(1)}, 100),
            (Batches{{0, 1}, {2}}));
}

TEST(FusionPlanner, AThresholdOfZeroFusesNothing) {
  EXPECT_EQ(plan({of_bytes(1), of_bytes(1)}, 0), (Batches{{0}, {1}}));
}

TEST(FusionPlanner, WhatIsTooLargeGoesAlone) {
  EXPECT_EQ(plan({of_bytes(500), of_bytes(1), of_bytes(1)}, 100),
            (Batches{{0}, {1, 2}}));
}

TEST(FusionPlanner, MixedTypesAreNotFusedButPassedOver) {
  EXPECT_EQ(plan({of_bytes(8), of_bytes(8, DType::kF32), of_bytes(8),
                  of_bytes(8, DType::kF32)},
                 100),
            (Batches{{0, 2}, {1, 3}}));
}

TEST(FusionPlanner, LookingAheadIsBounded) {
  EXPECT_EQ(plan({of_bytes(8), of_bytes(90, DType::kI8), of_bytes(8)}, 100),
            (Batches{{0}, {1}, {2}}));
}

TEST(FusionPlanner, OtherOperationsGoAlone) {
  Request broadcast = of_bytes(8);
  broadcast.kind = RequestKind::kBroadcast;
  EXPECT_EQ(plan({broadcast, broadcast, of_bytes(8)}, 100),
            (Batches{{0}, {1}, {2}}));
}

TEST(FusionPlanner, DifferentOpsOrScalesAreNotFused) {
  Request max = of_bytes(8);
  max.op = ReduceOp::kMax;
  Request scaled = of_bytes(8);
  scaled.prescale = 2;
  EXPECT_EQ(plan({of_bytes(8), max, scaled}, 100), (Batches{{0}, {1}, {2}}));
}

TEST(FusionPlanner, ABatchHasAtMostSoManyTensors) {
  EXPECT_EQ(plan({of_bytes(1), of_bytes(1), of_bytes(1)}, 100, 2),
            (Batches{{0, 1}, {2}}));
}

}  // namespace
}  // namespace hvd::coordinator
