// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/collective/arena/map.h"
#include "test/collective/conformance.h"
#include "test/collective/conforming_calls.h"

namespace hvd::collective {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(ShmOfThreads, PlaneConformance,
                         of_fleet<ShmOfThreads>());
INSTANTIATE_TEST_SUITE_P(ShmOfThreads, SetConformance,
                         of_fleet<ShmOfThreads>());

using Kind = Placement::Kind;
using InArenas = ArenasOfThreads<Kind::kArena, false>;
using BesideArenas = ArenasOfThreads<Kind::kHeap, false>;
using PartlyInArenas = ArenasOfThreads<Kind::kMixed, false>;
using InReadOnlyArenas = ArenasOfThreads<Kind::kMixed, true>;
INSTANTIATE_TEST_SUITE_P(InArenas, PlaneConformance, of_fleet<InArenas>());
INSTANTIATE_TEST_SUITE_P(InArenas, SetConformance, of_fleet<InArenas>());
INSTANTIATE_TEST_SUITE_P(BesideArenas, PlaneConformance,
                         of_fleet<BesideArenas>());
INSTANTIATE_TEST_SUITE_P(PartlyInArenas, PlaneConformance,
                         of_fleet<PartlyInArenas>());
INSTANTIATE_TEST_SUITE_P(InReadOnlyArenas, PlaneConformance,
                         of_fleet<InReadOnlyArenas>());

// Fails once the node's failure record is raised.
class BreakInterrupt : public transport::Interrupt {
 public:
  explicit BreakInterrupt(transport::FailureRecord& word) : word_(word) {}
  absl::Status check() override {
    if (!word_.raised()) return absl::OkStatus();
    return absl::AbortedError(word_.why());
  }

 private:
  transport::FailureRecord& word_;
};

// Calls body(segment) on each of `ranks` threads.
void on_segments(int ranks, std::size_t bytes,
                 const std::function<void(transport::NodeSegment&)>& body) {
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    const auto topology =
        Topology::from_peers(communicator.rank(), communicator.peers());
    auto segment =
        transport::NodeSegment::open(communicator, *topology, bytes, soon());
    ASSERT_TRUE(segment.ok()) << segment.status();
    body(**segment);
  });
}

TEST(ShmPlane, ServesTheMostRanksOfANode) {
  on_loopback(64, [](transport::Communicator& communicator) {
    run_on_shm(communicator, 64, [](Member& member) {
      for (const std::int64_t count : {1, 5, 700}) {
        if (!allreduce_conforms(member, {{.dtype = DType::kI32}, {count}})) {
          return;
        }
      }
      EXPECT_TRUE(broadcast_conforms(member, 100, 63, true));
      EXPECT_TRUE(alltoall_conforms(member, [](int from, int to) {
        return static_cast<std::size_t>(from + to) % 70;
      }));
      EXPECT_TRUE(reducescatter_conforms(member, {.dtype = DType::kF64},
                                         {std::vector<std::int64_t>(64, 5),
                                          std::vector<std::int64_t>(64, 1)}));
    });
  });
}

TEST(ShmPlane, WakesRanksThatSleepAtOnce) {
  const transport::WaitPolicy sleepy = {.spin = std::chrono::nanoseconds(0),
                                        .yields = 0};
  on_loopback(3, [&](transport::Communicator& communicator) {
    const auto body = [](Member& member) {
      for (int i = 0; i < 50; ++i) {
        if (!allreduce_conforms(member, {{.dtype = DType::kF32}, {2}})) return;
        if (!allreduce_conforms(member, {{.dtype = DType::kF32}, {500}})) {
          return;
        }
      }
    };
    RankBoard rank(communicator, kSmallShm, RankBoard::nothing, sleepy);
    run_on_board(rank, nullptr, 3, body);
  });
}

TEST(ShmPlane, MovesDefaultChunks) {
  on_loopback(3, [](transport::Communicator& communicator) {
    const auto body = [](Member& member) {
      EXPECT_TRUE(allreduce_conforms(
          member, {{.dtype = DType::kF32}, cut(300'000, true)}));
      EXPECT_TRUE(allreduce_conforms(
          member, {{.dtype = DType::kF16}, cut(2'000, true), true}));
      EXPECT_TRUE(allgather_conforms(member, {0, 600'000, 5}, false));
    };
    run_on_shm(communicator, 3, body, {});
  });
}

TEST(ShmPlane, GivesTheSameBitsForAnyNumberOfSteps) {
  // One sum as a small call, one in chunks.
  std::array<Bytes, 2> results;
  for (const bool small : {false, true}) {
    on_loopback(3, [&](transport::Communicator& communicator) {
      const auto body = [&](Member& member) {
        std::mt19937 random(static_cast<unsigned>(member.rank));
        std::normal_distribution<float> normal;
        Tensors tensors(DType::kF32, {1000});
        for (std::int64_t i = 0; i < 1000; ++i) {
          put(DType::kF32, tensors.inputs[0].data(), i, normal(random));
        }
        const Reduction reduction = {
            .op = ReduceOp::kAverage, .prescale = 0.1, .postscale = 1.7};
        ASSERT_TRUE(
            member.plane
                .allreduce(tensors.pieces(true), reduction, member.next())
                .ok());
        if (member.rank == 1) results[small ? 1 : 0] = tensors.inputs[0];
      };
      run_on_shm(communicator, 3, body,
                 {.chunk_bytes = std::size_t{8} << 10,
                  .small_bytes = small ? std::size_t{8} << 10 : 0});
    });
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(ShmPlane, ReportsRanksInDifferentCalls) {
  on_segments(
      3, ShmBoard::bytes_needed(3, kSmallShm),
      [](transport::NodeSegment& segment) {
        const int rank = segment.local_rank();
        ShmBoard board(segment, segment.payload(), test_waiting(3), kSmallShm);
        ShmPlane plane(board);
        NeverInterrupt interrupt;
        float value = 1;
        const Piece piece = {&value, &value, 1};
        ASSERT_TRUE(plane.barrier({{2, 1}, interrupt}).ok());
        // Rank 2 is ahead: to it, the others look late until the node
        // breaks.
        BreakInterrupt broken(segment.failure_record());
        const std::uint32_t sequence = rank == 2 ? 9 : 2;
        const absl::Status status =
            plane.allreduce({&piece, 1}, {}, {{2, sequence}, broken});
        EXPECT_THAT(std::string(status.message()),
                    AllOf(HasSubstr("(epoch 2, sequence 2)"),
                          HasSubstr("(epoch 2, sequence 9)")));
        segment.failure_record().raise(2, std::string(status.message()));
        segment.ring_others();
        EXPECT_EQ(value, 1);
        EXPECT_EQ(plane.barrier({{2, 10}, interrupt}), status);
        ShmPlane other(board, {rank, rank == 2 ? 0 : 2});
        EXPECT_FALSE(other.barrier({{2, 11}, interrupt}).ok());
      });
}

TEST(ShmPlane, ReportsRanksWithDifferentSizes) {
  on_segments(
      2, ShmBoard::bytes_needed(2, kSmallShm),
      [](transport::NodeSegment& segment) {
        ShmBoard board(segment, segment.payload(), test_waiting(2), kSmallShm);
        ShmPlane plane(board);
        NeverInterrupt interrupt;
        Tensors tensors(DType::kF32, {segment.local_rank() == 0 ? 4 : 4000});
        const absl::Status status =
            plane.allreduce(tensors.pieces(true), {}, {{1, 1}, interrupt});
        EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
        EXPECT_THAT(std::string(status.message()),
                    AllOf(HasSubstr("an allreduce of 16 bytes"),
                          HasSubstr("an allreduce of 16000 bytes")));
      });
}

TEST(ShmPlane, EndsMidCallWhenTheFailureRecordIsRaised) {
  on_segments(3, ShmBoard::bytes_needed(3, kSmallShm),
              [](transport::NodeSegment& segment) {
                // Sleeps until its doorbell rings.
                const transport::WaitPolicy sleepy = {
                    .spin = std::chrono::nanoseconds(0), .yields = 0};
                BreakInterrupt interrupt(segment.failure_record());
                ShmBoard board(segment, segment.payload(), sleepy, kSmallShm);
                if (segment.local_rank() == 0) {
                  // Takes part in the first step, then leaves.
                  const std::vector<int> all = {0, 1, 2};
                  ASSERT_TRUE(board.begin(all, {{1, 1}, 'r', 16000}).ok());
                  board.arrive();
                  ASSERT_TRUE(board.wait_for_arrivals(0, interrupt).ok());
                  segment.failure_record().raise(1, "rank 0 has left");
                  segment.ring_others();
                  return;
                }
                ShmPlane plane(board);
                Tensors tensors(DType::kF32, {4000});
                const std::vector<Bytes> before = tensors.inputs;
                const absl::Status status = plane.allreduce(
                    tensors.pieces(false), {}, {{1, 1}, interrupt});
                EXPECT_EQ(status, absl::AbortedError("rank 0 has left"));
                EXPECT_EQ(tensors.inputs, before);
              });
}

TEST(ShmPlane, RefusesARegionThatIsTooSmallOrOutOfLine) {
  const std::size_t needed = ShmBoard::bytes_needed(2, kSmallShm);
  on_segments(2, needed + 64, [&](transport::NodeSegment& segment) {
    NeverInterrupt interrupt;
    const auto memory = segment.payload();
    const auto outcome = [&](std::span<std::byte> region) {
      ShmBoard board(segment, region, test_waiting(2), kSmallShm);
      return ShmPlane(board).barrier({{1, 1}, interrupt}).code();
    };
    EXPECT_EQ(outcome(memory.first(needed - 1)),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(outcome(memory.subspan(64)), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(outcome(memory.first(needed)), absl::StatusCode::kOk);
  });
}

TEST(ShmPlane, RefusesMembersThatAreNotAscendingLocalRanksWithItself) {
  on_segments(
      2, ShmBoard::bytes_needed(2, kSmallShm),
      [&](transport::NodeSegment& segment) {
        const int rank = segment.local_rank();
        NeverInterrupt interrupt;
        ShmBoard board(segment, segment.payload(), test_waiting(2), kSmallShm);
        const std::vector<std::vector<int>> wrong = {
            {}, {1 - rank}, {1, 0}, {0, 0, 1}, {0, 1, 2}, {-1, 0, 1}};
        for (const auto& members : wrong) {
          EXPECT_EQ(
              ShmPlane(board, members).barrier({{1, 1}, interrupt}),
              ShmPlane(board, members).allreduce({}, {}, {{1, 1}, interrupt}));
          EXPECT_EQ(ShmPlane(board, members)
                        .broadcast(nullptr, nullptr, 0, 0, {{1, 1}, interrupt})
                        .code(),
                    absl::StatusCode::kInvalidArgument);
        }
        EXPECT_TRUE(ShmPlane(board, {rank}).barrier({{1, 1}, interrupt}).ok());
      });
}

TEST(ShmPlane, MakesSoundOptionsOfOddOnes) {
  on_loopback(2, [](transport::Communicator& communicator) {
    const auto body = [](Member& member) {
      EXPECT_TRUE(allreduce_conforms(member, {{.dtype = DType::kF64}, {333}}));
    };
    run_on_shm(communicator, 2, body, {.chunk_bytes = 1, .small_bytes = 9999});
  });
}

// Calls body(board, plane, region) on two ranks that have arenas, of default
// options.
void on_two_with_arenas(const std::function<void(ShmBoard&, ShmPlane&,
                                                 std::span<std::byte>)>& body) {
  on_loopback(2, [&](transport::Communicator& communicator) {
    RankBoard rank(communicator, {}, ArenaMap::bytes_needed);
    ArenaMap arenas(
        std::make_shared<Arena>(Arena::Options{.first_extent_bytes = 64 << 10}),
        {.rank = rank.rank(), .ranks = 2}, rank.before(), false);
    ShmPlane plane(rank.board(), &arenas);
    const auto memory = rank.segment().payload();
    body(rank.board(), plane, memory.subspan(rank.before().size()));
  });
}

TEST(ShmPlane, AlltoallsBesideArenasTakeOneStepIfSlotsHoldThem) {
  on_two_with_arenas(
      [](ShmBoard& board, ShmPlane& plane, std::span<std::byte>) {
        NeverInterrupt interrupt;
        for (const std::size_t part : {40'000, 300'000}) {
          const auto number = static_cast<std::uint32_t>(part);
          const std::vector<std::size_t> sizes = {part, part};
          const Bytes input(2 * part, static_cast<std::byte>(board.rank() + 1));
          Bytes output(2 * part);
          ASSERT_TRUE(plane
                          .alltoall(input, sizes, output.data(), sizes,
                                    {{1, number}, interrupt})
                          .ok());
          EXPECT_EQ(board.steps(), part == 40'000 ? 1u : 3u);
          EXPECT_EQ(output[0], std::byte{1});
          EXPECT_EQ(output[part], std::byte{2});
        }
      });
}

TEST(ShmPlane, ReducescattersCopyOnlyOtherRanksSlices) {
  constexpr std::int64_t kPart = 8192;
  on_two_with_arenas([](ShmBoard& board, ShmPlane& plane,
                        std::span<std::byte> region) {
    const int rank = board.rank();
    // Rank 0 keeps its sevens, and rank 1 its nines.
    std::vector<std::int64_t> input(2 * kPart, 5);
    std::fill_n(input.begin() + rank * kPart, kPart, rank == 0 ? 7 : 9);
    std::vector<std::int64_t> output(kPart);
    const Piece piece = {input.data(), output.data(), 2 * kPart};
    const std::vector<std::int64_t> counts = {kPart, kPart};
    NeverInterrupt interrupt;
    ASSERT_TRUE(plane
                    .reducescatter({&piece, 1}, counts, {.dtype = DType::kI64},
                                   {{1, 1}, interrupt})
                    .ok());
    EXPECT_THAT(output, Each(rank == 0 ? 12 : 14));
    ASSERT_TRUE(plane.barrier({{1, 2}, interrupt}).ok());
    const std::span<std::byte> slots =
        region.last(2 * 4 * ShmOptions().chunk_bytes);
    std::vector<std::int64_t> shown(slots.size() / sizeof(std::int64_t));
    std::memcpy(shown.data(), slots.data(), slots.size());
    EXPECT_EQ(std::count(shown.begin(), shown.end(), 5), 2 * kPart);
    EXPECT_EQ(std::count(shown.begin(), shown.end(), 7), 0);
    EXPECT_EQ(std::count(shown.begin(), shown.end(), 9), 0);
  });
}

TEST(ShmPlane, MovesOnlyTheMemoryOfTheCpu) {
  on_segments(
      1, ShmBoard::bytes_needed(1), [](transport::NodeSegment& segment) {
        ShmBoard board(segment, segment.payload(), test_waiting(1));
        const ShmPlane plane(board);
        EXPECT_EQ(plane.name(), "shm");
        EXPECT_TRUE(plane.supports(Device::cpu(), std::size_t{1} << 40));
        EXPECT_FALSE(plane.supports(Device::cuda(0), 4));
      });
}

}  // namespace
}  // namespace hvd::collective
