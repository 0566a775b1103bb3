// SPDX-License-Identifier: Apache-2.0
#include "test/collective/conformance.h"
#include "test/collective/mpi_fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(ShmOfProcesses, PlaneConformance,
                         of_fleet<ShmOfProcesses<0>>());
INSTANTIATE_TEST_SUITE_P(ShmOfProcesses, SetConformance,
                         of_fleet<ShmOfProcesses<0>>());
INSTANTIATE_TEST_SUITE_P(ShmOfTwoNodes, PlaneConformance,
                         of_fleet<ShmOfProcesses<2>>());
INSTANTIATE_TEST_SUITE_P(ShmOfTwoNodes, SetConformance,
                         of_fleet<ShmOfProcesses<2>>());

using Kind = Placement::Kind;
using InArenas = ArenasOfProcesses<Kind::kArena, false, 0>;
using PartlyInArenas = ArenasOfProcesses<Kind::kMixed, false, 2>;
using InReadOnlyArenas = ArenasOfProcesses<Kind::kMixed, true, 0>;
INSTANTIATE_TEST_SUITE_P(InArenas, PlaneConformance, of_fleet<InArenas>());
INSTANTIATE_TEST_SUITE_P(InArenas, SetConformance, of_fleet<InArenas>());
INSTANTIATE_TEST_SUITE_P(PartlyInArenas, PlaneConformance,
                         of_fleet<PartlyInArenas>());
INSTANTIATE_TEST_SUITE_P(InReadOnlyArenas, PlaneConformance,
                         of_fleet<InReadOnlyArenas>());

// Processes map each other's extents. Mapping long extents takes a while, and
// calls go on meanwhile.
TEST(ArenasOfProcesses, OfLongExtentsAreMappedSoon) {
  constexpr ShmOptions kShm = {
      .chunk_bytes = 1024, .small_bytes = 512, .unlisted_bytes = 64};
  constexpr std::int64_t kCount = 5000;
  constexpr std::uint32_t kMaxCalls = 1'000'000;
  const auto communicator = transport::make_mpi_communicator({});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const int ranks = (*communicator)->size();
  RankBoard board(**communicator, kShm, ArenaMap::bytes_needed);
  const auto arena = std::make_shared<Arena>(
      Arena::Options{.first_extent_bytes = std::size_t{4} << 20});
  ArenaMap map(arena, {.rank = board.rank(), .ranks = ranks}, board.before());
  ShmPlane plane(board.board(), &map);
  NeverInterrupt interrupt;
  std::vector<float, ArenaAllocator<float>> x(kCount, 0.0f,
                                              ArenaAllocator<float>(arena));
  const Piece piece = {x.data(), x.data(), kCount};
  bool in_place = ranks == 1;  // One rank needs no mapping.
  for (std::uint32_t call = 0; !in_place && call < kMaxCalls; ++call) {
    std::fill(x.begin(), x.end(), 1.0f);
    ASSERT_TRUE(plane
                    .allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                               {{1, call}, interrupt})
                    .ok());
    ASSERT_EQ(x.front(), static_cast<float>(ranks));
    ASSERT_EQ(x.back(), static_cast<float>(ranks));
    in_place = board.board().steps() == 1;  // Equal on all ranks.
  }
  EXPECT_TRUE(in_place);
}

}  // namespace
}  // namespace hvd::collective
