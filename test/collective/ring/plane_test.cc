// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/plane.h"

#include <gtest/gtest.h>

#include "test/collective/conformance.h"
#include "test/collective/conforming_calls.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(RingOfThreads, PlaneConformance,
                         of_fleet<RingOfThreads>());
INSTANTIATE_TEST_SUITE_P(RingOfThreads, SetConformance,
                         of_fleet<RingOfThreads>());

// The calls that a plane has by composition.
INSTANTIATE_TEST_SUITE_P(Plain, PlaneConformance, of_fleet<PlainOfThreads>());
INSTANTIATE_TEST_SUITE_P(Plain, SetConformance, of_fleet<PlainOfThreads>());

Member member_of(DataPlane& plane, int rank, int ranks,
                 transport::Interrupt& interrupt) {
  return {plane, rank, ranks, ranks, interrupt, {}};
}

TEST(RingPlane, NeverBlocksItselfAtAnyDepthAndSize) {
  for (const int ranks : {2, 3, 5}) {
    for (const int depth : {1, 2, 4}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        RingPlane plane(communicator, test_waiting(ranks),
                        {.chunk_bytes = 64, .depth = depth});
        NeverInterrupt interrupt;
        Member member = member_of(plane, communicator.rank(), ranks, interrupt);
        for (const std::int64_t count : {1, 15, 64, 333, 1024}) {
          const AllreduceCase test = {{.dtype = DType::kF32}, {count}};
          if (!allreduce_conforms(member, test)) return;
          const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks),
                                               static_cast<std::size_t>(count));
          if (!allgather_conforms(member, sizes, false)) return;
          if (!broadcast_conforms(member, static_cast<std::size_t>(count),
                                  ranks - 1, false)) {
            return;
          }
          const auto size = [&](int from, int to) {
            return from <= to ? static_cast<std::size_t>(count) : 1;
          };
          if (!alltoall_conforms(member, size)) return;
          if (!reducescatter_conforms(
                  member, {},
                  {std::vector<std::int64_t>(sizes.size(), count)})) {
            return;
          }
        }
      });
    }
  }
}

TEST(RingPlane, ConnectsSomeRanksInAnyOrderBesideOthers) {
  on_loopback(5, [](transport::Communicator& communicator) {
    // Two concurrent rings over one communicator, distinguished by their tags.
    const std::vector<int> odd = {3, 1};
    const std::vector<int> even = {2, 0, 4};
    const bool is_odd = communicator.rank() % 2 == 1;
    const std::vector<int>& members = is_odd ? odd : even;
    const int position = static_cast<int>(
        std::find(members.begin(), members.end(), communicator.rank()) -
        members.begin());
    RingPlane plane(communicator, members, test_waiting(5), kSmallRing);
    NeverInterrupt interrupt;
    Member member =
        member_of(plane, position, static_cast<int>(members.size()), interrupt);
    member.sequence = is_odd ? 1000 : 2000;
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(allreduce_conforms(member, {{.dtype = DType::kI16}, {500}}));
      ASSERT_TRUE(broadcast_conforms(member, 700, 1, false));
      ASSERT_TRUE(member.plane.barrier(member.next()).ok());
    }
  });
}

TEST(RingPlane, MovesDefaultChunks) {
  on_loopback(3, [](transport::Communicator& communicator) {
    RingPlane plane(communicator, test_waiting(3));
    NeverInterrupt interrupt;
    Member member = member_of(plane, communicator.rank(), 3, interrupt);
    EXPECT_TRUE(allreduce_conforms(
        member, {{.dtype = DType::kF32}, cut(300'000, true)}));
    EXPECT_TRUE(broadcast_conforms(member, 1'000'000, 2, false));
  });
}

TEST(RingPlane, RefusesToServeARankThatIsNoMember) {
  on_loopback(2, [](transport::Communicator& communicator) {
    if (communicator.rank() != 0) return;
    RingPlane plane(communicator, {1}, test_waiting(1));
    NeverInterrupt interrupt;
    const Call call = {{1, 1}, interrupt};
    EXPECT_EQ(plane.barrier(call).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(plane.allreduce({}, {}, call).code(),
              absl::StatusCode::kInvalidArgument);
  });
}

TEST(RingPlane, EndsMidCallWhenAPeerHasLeft) {
  on_loopback(3, [](transport::Communicator& communicator) {
    RingPlane plane(communicator, test_waiting(3), kSmallRing);
    FailingInterrupt interrupt(200);
    // Rank 0 needs one round, the others many; then rank 0 leaves.
    const std::int64_t count = communicator.rank() == 0 ? 384 : 100'000;
    Tensors tensors(DType::kF32, {count});
    const absl::Status status = plane.allreduce(
        tensors.pieces(false), {.dtype = DType::kF32}, {{1, 1}, interrupt});
    if (communicator.rank() != 0) {
      EXPECT_EQ(status.message(), "rank 7 was killed by signal 9");
    }
  });
}

TEST(RingPlane, MovesOnlyTheMemoryOfTheCpu) {
  on_loopback(1, [](transport::Communicator& communicator) {
    const RingPlane plane(communicator, test_waiting(1));
    EXPECT_EQ(plane.name(), "ring");
    EXPECT_TRUE(plane.supports(Device::cpu(), std::size_t{1} << 40));
    EXPECT_FALSE(plane.supports(Device::cuda(0), 4));
  });
}

}  // namespace
}  // namespace hvd::collective
