// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/plane.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "test/collective/conformance.h"
#include "test/collective/fused_calls.h"
#include "test/collective/hierarchical/fleets.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(NodesOfThreads, PlaneConformance,
                         of_fleet<NodesOfThreads<false>>());
INSTANTIATE_TEST_SUITE_P(NodesOfThreads, SetConformance,
                         of_fleet<NodesOfThreads<false>>());
INSTANTIATE_TEST_SUITE_P(NodesBesideMemory, SetConformance,
                         of_fleet<NodesOfThreads<true>>());

void on_seats(const Seating& seating, const Body& body,
              const HierarchicalOptions& options = kSmallBlocks) {
  const int ranks = static_cast<int>(seating.size());
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    run_on_nodes(communicator, ranks, seating, false, body, options);
  });
}

// The sum over all ranks of numbers whose sums round.
Bytes sum_of_fractions(Member& member, DataPlane& plane, std::int64_t count) {
  Tensors tensors(DType::kF32, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    put(DType::kF32, tensors.inputs[0].data(), i,
        1.0 / static_cast<double>(3 + i % 97 + 5 * member.rank));
  }
  const absl::Status status =
      plane.allreduce(tensors.pieces(false), {}, member.next());
  EXPECT_TRUE(status.ok()) << status;
  return tensors.outputs[0];
}

TEST(HierarchicalPlane, AddsNodeByNodeWhereARingGoesFromRankToRank) {
  for (const bool is_on : {false, true}) {
    HierarchicalOptions options = kSmallBlocks;
    options.allreduce = is_on;
    on_loopback(5, [&](transport::Communicator& communicator) {
      const auto body = [&](Member& member) {
        RingPlane ring(communicator, test_waiting(5), kSmallRing);
        const Bytes by_nodes = sum_of_fractions(member, member.plane, 900);
        const Bytes by_ring = sum_of_fractions(member, ring, 900);
        EXPECT_EQ(by_nodes == by_ring, !is_on);
      };
      run_on_nodes(communicator, 5, "AABBB", false, body, options);
    });
  }
}

// A node's sums travel to the next node as float, not rounded to half.
TEST(HierarchicalPlane, KeepsHalvesInFloatBetweenTheNodes) {
  on_seats("AABB", [](Member& member) {
    const std::vector<double> values = {2048, 1, 1, 0};
    Tensors tensors(DType::kF16, {4});
    for (std::int64_t i = 0; i < 4; ++i) {
      put(DType::kF16, tensors.inputs[0].data(), i,
          values[static_cast<std::size_t>(member.rank)]);
    }
    ASSERT_TRUE(member.plane
                    .allreduce(tensors.pieces(false), {.dtype = DType::kF16},
                               member.next())
                    .ok());
    for (std::int64_t i = 0; i < 4; ++i) {
      // 2049 is not representable as a half.
      EXPECT_EQ(get(DType::kF16, tensors.outputs[0].data(), i), 2050);
    }
  });
}

TEST(HierarchicalPlane, AverageOfIntegersIsExactAcrossNodes) {
  on_seats("AAB", [](Member& member) {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Piece piece = {&most, &most, 1};
    ASSERT_TRUE(member.plane
                    .allreduce({&piece, 1},
                               {.dtype = DType::kI64, .op = ReduceOp::kAverage},
                               member.next())
                    .ok());
    EXPECT_EQ(most, std::numeric_limits<std::int64_t>::max());
  });
}

TEST(HierarchicalPlane, GathersByTheRingIfAsked) {
  HierarchicalOptions options = kSmallBlocks;
  options.allgather = false;
  on_seats(
      "AABBBC",
      [](Member& member) {
        EXPECT_TRUE(
            allgather_conforms(member, {0, 5, 3000, 1, 700, 64}, false));
      },
      options);
}

TEST(HierarchicalPlane, MovesLargeTensorsWithTheDefaults) {
  on_seats("AABBB",
           [](Member& member) {
             EXPECT_TRUE(allreduce_conforms(
                 member, {{.dtype = DType::kF64}, cut(1'100'000, true)}));
             EXPECT_TRUE(allreduce_conforms(
                 member, {{.dtype = DType::kF16}, {300'001}, true}));
             EXPECT_TRUE(allgather_conforms(member, {300'000, 0, 5, 600'000, 1},
                                            false));
           },
           {});
}

// Certain calls alone and after other calls.
TEST(HierarchicalPlane, SkipsTheVoteBeforeCertainCalls) {
  for (const bool is_on : {true, false}) {
    HierarchicalOptions options = kSmallBlocks;
    options.allreduce = options.allgather = is_on;
    for (const Seating seating : {"AB", "AABB", "ABBAB", "AABBBC"}) {
      on_seats(
          seating,
          [](Member& member) {
            std::mt19937 plan(5);  // Equal on all ranks.
            for (int i = 0; i < 40; ++i) {
              member.certain = plan() % 3 != 0;
              const auto count = static_cast<std::int64_t>(
                  plan() % 4 == 0 ? 2000 : plan() % 60);
              const std::vector<std::size_t> sizes(
                  static_cast<std::size_t>(member.ranks), plan() % 900);
              const bool well =
                  allreduce_conforms(member, {{}, cut(count, true)}) &&
                  reducescatter_conforms(
                      member, {}, {parts_of(count, member.ranks, i % 3)}) &&
                  allgather_conforms(member, sizes, false);
              ASSERT_TRUE(well) << "round " << i;
            }
          },
          options);
    }
  }
}

TEST(HierarchicalPlane, AddsLittleBetweenManyNodesWithTheSameBits) {
  for (const Seating seating : {"AABCDDE", "ABCDEFGG", "AABBCCDD"}) {
    on_seats(seating, [](Member& member) {
      for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
        for (const std::int64_t count : {1, 9, 40, 90, 300}) {
          random_floats_conform(member, {.dtype = dtype}, count);
        }
        ASSERT_TRUE(reducescatter_conforms(member, {.dtype = dtype},
                                           {parts_of(40, member.ranks, 2)}));
      }
    });
  }
}

TEST(HierarchicalPlane, HasRoomForTheSharesOfUnevenNodes) {
  for (const std::size_t block_bytes : {1u, 64u, 1000u}) {
    HierarchicalOptions options = kSmallBlocks;
    options.block_bytes = block_bytes;
    on_seats(
        "AAAAABBC",
        [](Member& member) {
          for (const DType dtype : {DType::kI64, DType::kI8, DType::kF16}) {
            EXPECT_TRUE(allreduce_conforms(
                member, {{.dtype = dtype, .op = ReduceOp::kAverage}, {333}}));
          }
        },
        options);
  }
}

TEST(HierarchicalPlane, RefusesToServeARankThatIsNoMember) {
  on_seats("AB", [](Member& member) {
    const auto plane = member.plane_between({1 - member.rank});
    EXPECT_EQ(plane->barrier(member.next()).code(),
              absl::StatusCode::kInvalidArgument);
  });
}

TEST(HierarchicalPlane, EndsMidCallWhenAPeerOfAnotherNodeHasLeft) {
  on_seats("AABB", [](Member& member) {
    // Rank 3 stops first, after some of many blocks.
    FailingInterrupt interrupt(member.rank == 3 ? 20 : 3000);
    Tensors tensors(DType::kF32, {100'000});
    const Call call = {member.next().tag, interrupt};
    const absl::Status status =
        member.plane.allreduce(tensors.pieces(false), {}, call);
    EXPECT_EQ(status.message(), "rank 7 was killed by signal 9");
    EXPECT_EQ(member.plane.barrier(member.next()), status);
  });
}

}  // namespace
}  // namespace hvd::collective
