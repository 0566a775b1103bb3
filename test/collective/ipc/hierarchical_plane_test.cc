// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/hierarchical_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "test/collective/conformance.h"
#include "test/collective/conforming_calls.h"
#include "test/collective/ipc/nodes_fleet.h"
#include "test/support/fake_cuda/fake_cuda.h"

namespace hvd::collective {
namespace {

using ::testing::HasSubstr;

// On nodes of different sizes, and on equal nodes with interleaved ranks.
class IpcOfNodes {
 public:
  void run(const Body& body) {
    testing::FakeCuda::set_delay(20);
    SharedGpus shared;
    for (const Seating seating : {"AAB", "ABBA"}) {
      const int ranks = static_cast<int>(seating.size());
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_ipc_nodes(communicator, ranks, seating, shared, body);
      });
    }
  }
};

INSTANTIATE_TEST_SUITE_P(IpcOfNodes, PlaneConformance, of_fleet<IpcOfNodes>());
INSTANTIATE_TEST_SUITE_P(IpcOfNodes, SetConformance, of_fleet<IpcOfNodes>());

using OnSeat = std::function<void(IpcNodesSeat& seat, Member& member)>;

void on_seats(const Seating& seating, const OnSeat& body) {
  testing::FakeCuda::set_delay(20);
  SharedGpus shared;
  const int ranks = static_cast<int>(seating.size());
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    IpcNodesSeat seat(communicator, seating, shared);
    run_on_seat(seat, ranks, [&](Member& member) { body(seat, member); });
  });
}

// Numbers whose sums round.
Tensors fractions(DType dtype, int rank, std::int64_t count) {
  Tensors tensors(dtype, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    put(dtype, tensors.inputs[0].data(), i,
        1.0 / static_cast<double>(3 + i % 97 + 5 * rank));
  }
  return tensors;
}

TEST(HierarchicalIpcPlane, HasTheBitsOfTheHost) {
  on_seats("AABBBC", [](IpcNodesSeat& seat, Member& member) {
    for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
      const Reduction reduction = {.dtype = dtype,
                                   .op = ReduceOp::kAverage,
                                   .prescale = 0.7,
                                   .postscale = 1.3};
      Tensors on_gpu = fractions(dtype, member.rank, 3001);
      Tensors on_host = fractions(dtype, member.rank, 3001);
      const std::size_t before = testing::FakeCuda::launches();
      ASSERT_EQ(member.plane.allreduce(on_gpu.pieces(false), reduction,
                                       member.next()),
                absl::OkStatus());
      EXPECT_GT(testing::FakeCuda::launches(), before);
      ASSERT_EQ(seat.host().allreduce(on_host.pieces(false), reduction,
                                      OnGpu::spaced(member.next())),
                absl::OkStatus());
      EXPECT_EQ(on_gpu.outputs, on_host.outputs) << name_of(dtype);
    }
    EXPECT_THAT(seat.told(), HasSubstr("between 3 nodes by way of the host"));
  });
}

// Each rank reduces its share of each chunk on its node. On nodes of two ranks,
// each rank also spreads its share.
TEST(HierarchicalIpcPlane, ReducesByKernelsOnEachNode) {
  testing::FakeCuda::set_delay(0);
  const std::size_t before = testing::FakeCuda::launches();
  on_seats("AAB", [](IpcNodesSeat&, Member& member) {
    // Two chunks: a chunk fits in half of a window, and its accumulators
    // follow.
    std::vector<float> x(2 * IpcNodesSeat::kHalfBytes / 2 / sizeof(float), 1);
    const Piece piece = {x.data(), x.data(),
                         static_cast<std::int64_t>(x.size())};
    ASSERT_EQ(member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                                     member.next()),
              absl::OkStatus());
    EXPECT_THAT(x, ::testing::Each(3.0f));
  });
  EXPECT_EQ(testing::FakeCuda::launches() - before, 2u * (3u + 2u));
}

// One rank cannot have a window, so all ranks stage through the host.
TEST(HierarchicalIpcPlane, GoesAnotherWayOnAllNodesIfOneRankCannot) {
  for (const char* const call : {"cuIpcGetMemHandle", "cuMemHostAlloc"}) {
    testing::FakeCuda::fail_next(call, 1);
    const std::size_t before = testing::FakeCuda::launches();
    on_seats("AABB", [](IpcNodesSeat& seat, Member& member) {
      std::vector<float> x(100, 1);
      const Piece piece = {x.data(), x.data(), 100};
      ASSERT_EQ(member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                                       member.next()),
                absl::OkStatus());
      EXPECT_THAT(x, ::testing::Each(4.0f));
      EXPECT_THAT(seat.told(), HasSubstr("go by way of the host"));
    });
    EXPECT_EQ(testing::FakeCuda::launches(), before) << call;
    testing::FakeCuda::fail_next(call, 0);
  }
}

absl::Status sum_of_ones(Member& member, float expected) {
  std::vector<float> x(1000, 1);
  const Piece piece = {x.data(), x.data(), 1000};
  const absl::Status status = member.plane.allreduce(
      {&piece, 1}, {.op = ReduceOp::kSum}, member.next());
  EXPECT_THAT(x, ::testing::Each(expected));
  return status;
}

// Rank 0 is alone on its node in the second set, so that it needs more there.
TEST(HierarchicalIpcPlane, KeepsItsPinnedMemoryWhereAnotherSetGetsNoMore) {
  on_seats("AABB", [](IpcNodesSeat& seat, Member& member) {
    const char* const call = "cuMemHostAlloc";
    ASSERT_EQ(sum_of_ones(member, 4), absl::OkStatus());
    const Call of_part = member.next();
    if (member.rank != 1) {
      if (member.rank == 0) testing::FakeCuda::fail_next(call, 2);
      const auto plane = seat.sets().on_gpu({0, 2, 3});
      Member part = {*plane, member.rank == 0 ? 0 : member.rank - 1, 3, 4,
                     member.interrupt};
      part.sequence = of_part.tag.sequence;
      ASSERT_EQ(sum_of_ones(part, 3), absl::OkStatus());
      EXPECT_THAT(seat.told(), HasSubstr("go by way of the host"));
      // The next call must not allocate.
      if (member.rank == 0) testing::FakeCuda::fail_next(call, 2);
    }
    ASSERT_EQ(sum_of_ones(member, 4), absl::OkStatus());
    if (member.rank == 0) testing::FakeCuda::fail_next(call, 0);
  });
}

TEST(HierarchicalIpcPlane, NamesRanksAsTheJobDoes) {
  on_seats("AABB", [](IpcNodesSeat& seat, Member& member) {
    ASSERT_EQ(sum_of_ones(member, 4), absl::OkStatus());
    EXPECT_THAT(seat.told(),
                HasSubstr(member.rank < 2 ? "ranks [0, 1]" : "ranks [2, 3]"));
  });
}

TEST(HierarchicalIpcPlane, TellsWhatHasBrokenItFromThenOn) {
  on_seats("AB", [](IpcNodesSeat&, Member& member) {
    std::vector<float> x(1000, 1);
    const Piece piece = {x.data(), x.data(), 1000};
    FailingInterrupt fails(0);
    const Call call = {member.next().tag, fails};
    if (member.rank == 1) return;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(
          member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum}, call)
              .message(),
          "rank 7 was killed by signal 9");
    }
  });
}

}  // namespace
}  // namespace hvd::collective
