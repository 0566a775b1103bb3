// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/fusion_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace hvd::coordinator {
namespace {

using Batches = std::vector<std::vector<std::size_t>>;

Request of_bytes(int bytes, DType dtype = DType::kU8) {
  Request request;
  request.tensors = {
      {dtype, Shape({bytes / static_cast<int>(size_of(dtype))})}};
  return request;
}

Request group_of(const std::vector<int>& bytes) {
  Request group;
  for (const int b : bytes) group.tensors.push_back(of_bytes(b).tensors[0]);
  return group;
}

Batches plan(const std::vector<Request>& requests,
             const FusionOptions& options) {
  std::vector<Candidate> ready;
  for (const Request& request : requests) ready.push_back({&request, 4});
  return plan_fusion(ready, options);
}
Batches plan(const std::vector<Request>& requests, std::size_t threshold) {
  return plan(requests, FusionOptions{.threshold = threshold});
}

TEST(FusionPlanner, PlansNoBatchWithoutRequests) {
  EXPECT_EQ(plan({}, 100), Batches());
}

TEST(FusionPlanner, FusesUpToTheThreshold) {
  EXPECT_EQ(plan({of_bytes(40), of_bytes(60), of_bytes(1)}, 100),
            (Batches{{0, 1}, {2}}));
}

TEST(FusionPlanner, AThresholdOfZeroFusesNoTensors) {
  EXPECT_EQ(plan({of_bytes(1), of_bytes(1)}, 0), (Batches{{0}, {1}}));
  // Not even empty tensors.
  EXPECT_EQ(plan({of_bytes(0), of_bytes(0)}, 0), (Batches{{0}, {1}}));
}

TEST(FusionPlanner, ATooLargeTensorGoesAlone) {
  EXPECT_EQ(plan({of_bytes(500), of_bytes(1), of_bytes(1)}, 100),
            (Batches{{0}, {1, 2}}));
  EXPECT_EQ(plan({of_bytes(500), of_bytes(0), of_bytes(0)}, 100),
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
  EXPECT_EQ(plan({of_bytes(8), of_bytes(84, DType::kI8), of_bytes(8)}, 100),
            (Batches{{0, 2}, {1}}));
}

TEST(FusionPlanner, SkippedTensorsKeepTheirOrder) {
  EXPECT_EQ(
      plan({of_bytes(1), of_bytes(1, DType::kI8), of_bytes(4, DType::kF32),
            of_bytes(1), of_bytes(1, DType::kI8)},
           100),
      (Batches{{0, 3}, {1, 4}, {2}}));
}

TEST(FusionPlanner, OtherOperationsGoAlone) {
  for (const RequestKind kind :
       {RequestKind::kBroadcast, RequestKind::kAllgather,
        RequestKind::kAlltoall, RequestKind::kReducescatter}) {
    Request other = of_bytes(8);
    other.kind = kind;
    EXPECT_EQ(plan({other, other, of_bytes(8)}, 100), (Batches{{0}, {1}, {2}}));
  }
  Request barrier;
  barrier.kind = RequestKind::kBarrier;
  EXPECT_EQ(plan({barrier, barrier}, 100), (Batches{{0}, {1}}));
}

TEST(FusionPlanner, DoesNotFuseAcrossABarrier) {
  Request barrier;
  barrier.kind = RequestKind::kBarrier;
  EXPECT_EQ(
      plan({of_bytes(1), of_bytes(1), barrier, of_bytes(1), of_bytes(1)}, 100),
      (Batches{{0, 1}, {2}, {3, 4}}));
}

TEST(FusionPlanner, AnEmptyGroupGoesAlone) {
  EXPECT_EQ(plan({group_of({}), group_of({}), of_bytes(1)}, 100),
            (Batches{{0}, {1}, {2}}));
}

TEST(FusionPlanner, DifferentOperationsAreNotFused) {
  Request max = of_bytes(8);
  max.op = ReduceOp::kMax;
  Request scaled = of_bytes(8);
  scaled.prescale = 2;
  Request scaled_after = of_bytes(8);
  scaled_after.postscale = 2;
  Request of_set = of_bytes(8);
  of_set.key.process_set = 1;
  Request on_device = of_bytes(8);
  on_device.device = Device::cuda(0);
  Request of_participants = of_bytes(8);
  of_participants.average_of_participants = true;
  Request captured = of_bytes(8);
  captured.captured = true;
  EXPECT_EQ(plan({of_bytes(8), max, scaled, scaled_after, of_set, on_device,
                  of_participants, captured},
                 100),
            (Batches{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
}

TEST(FusionPlanner, FusesOnlyEqualNumbersOfParticipants) {
  const Request request = of_bytes(8);
  const std::vector<Candidate> ready = {
      {&request, 4}, {&request, 3}, {&request, 4}};
  EXPECT_EQ(plan_fusion(ready, {.threshold = 100}), (Batches{{0, 2}, {1}}));
}

TEST(FusionPlanner, ABatchHasALimitOfOperations) {
  EXPECT_EQ(plan({of_bytes(1), of_bytes(1), of_bytes(1)},
                 {.threshold = 100, .max_batch = 2}),
            (Batches{{0, 1}, {2}}));
}

TEST(FusionPlanner, AGroupIsFusedAsAWholeOrNotAtAll) {
  EXPECT_EQ(plan({of_bytes(50), group_of({20, 20}), of_bytes(10)}, 100),
            (Batches{{0, 1, 2}}));
  EXPECT_EQ(plan({of_bytes(50), group_of({20, 40}), of_bytes(10)}, 100),
            (Batches{{0}, {1, 2}}));
}

TEST(FusionPlanner, AGroupLargerThanTheThresholdGoesAlone) {
  EXPECT_EQ(plan({of_bytes(1), group_of({90, 90}), of_bytes(1)}, 100),
            (Batches{{0}, {1}, {2}}));
}

TEST(FusionPlanner, AGroupOfSeveralTypesGoesAlone) {
  Request mixed = group_of({8, 8});
  mixed.tensors[1].dtype = DType::kI8;
  EXPECT_EQ(plan({mixed, mixed, of_bytes(8)}, 100), (Batches{{0}, {1}, {2}}));
}

TEST(FusionPlanner, GroupsGoAloneIfConfigured) {
  EXPECT_EQ(plan({of_bytes(8), group_of({8, 8}), group_of({8}), of_bytes(8)},
                 {.threshold = 100, .fuse_groups = false}),
            (Batches{{0, 2, 3}, {1}}));
}

// Each operation is in exactly one batch. Batches of several operations stay
// below the threshold, keep the order, and hold only allreduces of one dtype.
TEST(FusionPlanner, RandomPlansAreWhole) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Request> requests;
    for (auto i = random() % 20; i > 0; --i) {
      requests.push_back(of_bytes(static_cast<int>(random() % 64) * 4,
                                  random() % 2 ? DType::kU8 : DType::kF32));
      if (random() % 8 == 0) requests.back().kind = RequestKind::kBroadcast;
    }
    const std::size_t threshold = random() % 300;
    std::vector<int> seen(requests.size(), 0);
    for (const auto& batch : plan(requests, threshold)) {
      ASSERT_FALSE(batch.empty());
      EXPECT_TRUE(std::is_sorted(batch.begin(), batch.end()));
      std::size_t bytes = 0;
      for (const std::size_t index : batch) {
        ++seen[index];
        bytes += requests[index].bytes();
        EXPECT_EQ(requests[index].tensors[0].dtype,
                  requests[batch[0]].tensors[0].dtype);
        EXPECT_TRUE(batch.size() == 1 ||
                    requests[index].kind == RequestKind::kAllreduce);
      }
      EXPECT_TRUE(batch.size() == 1 || bytes <= threshold);
    }
    EXPECT_EQ(seen, std::vector<int>(requests.size(), 1));
  }
}

TEST(FusionPlanner, SizesAtTheEdgeDoNotWrapAround) {
  Request huge;
  huge.tensors = {
      {DType::kU8, Shape({std::numeric_limits<std::int64_t>::max()})}};
  EXPECT_EQ(plan({huge, huge, huge, of_bytes(1)},
                 std::numeric_limits<std::size_t>::max()),
            (Batches{{0, 1}, {2, 3}}));
}

}  // namespace
}  // namespace hvd::coordinator
