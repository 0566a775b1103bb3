// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/crossovers.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kCrossoverSlot = std::size_t{256} << 10;

// Calls body(board) on each of `ranks` threads of a node.
void on_boards(int ranks, const std::function<void(ShmBoard&)>& body,
               const ShmOptions& options = {}) {
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    body(RankBoard(communicator, options).board());
  });
}

TEST(MeasureCrossovers, FindsEqualValuesOnAllRanksAndKeepsTheBoards) {
  for (const int ranks : {1, 2, 3}) {
    std::vector<ShmCrossovers> found(static_cast<std::size_t>(ranks));
    on_boards(ranks, [&](ShmBoard& board) {
      const ShmCrossovers before = board.crossovers();
      NeverInterrupt interrupt;
      const auto measured = measure_crossovers(
          board, nullptr, {.timeout = std::chrono::seconds(60)}, interrupt);
      ASSERT_EQ(measured.status(), absl::OkStatus());
      EXPECT_EQ(board.crossovers(), before);
      ASSERT_TRUE(measured->has_value());
      found[static_cast<std::size_t>(board.rank())] = **measured;
    });
    for (const ShmCrossovers& values : found) {
      EXPECT_EQ(values, found[0]);
      EXPECT_LE(values.small_bytes, kCrossoverSlot);
      EXPECT_GE(values.step_bytes, kCrossoverSlot / 4);
      EXPECT_LE(values.step_bytes, kCrossoverSlot);
    }
  }
}

TEST(MeasureCrossovers, MeasuresNoValueAfterTheTimeout) {
  on_boards(2, [](ShmBoard& board) {
    NeverInterrupt interrupt;
    const auto measured = measure_crossovers(
        board, nullptr, {.timeout = std::chrono::nanoseconds(-1)}, interrupt);
    ASSERT_EQ(measured.status(), absl::OkStatus());
    EXPECT_EQ(*measured, std::nullopt);
  });
}

TEST(MeasureCrossovers, EndsWithTheInterruptsError) {
  on_boards(2, [](ShmBoard& board) {
    if (board.rank() == 1) return;  // Never enters.
    FailingInterrupt interrupt(100);
    const auto measured = measure_crossovers(board, nullptr, {}, interrupt);
    EXPECT_TRUE(absl::IsUnavailable(measured.status())) << measured.status();
  });
}

TEST(ShareCrossovers, SharesTheValuesOfRankZero) {
  on_boards(3, [](ShmBoard& board) {
    NeverInterrupt interrupt;
    const ShmCrossovers known = {.small_bytes = 4096, .step_bytes = 65536};
    const ShmCrossovers other = {.small_bytes = 1, .step_bytes = 131072};
    const auto shared = share_crossovers(
        board, board.rank() == 0 ? known : other, 0, interrupt);
    ASSERT_EQ(shared.status(), absl::OkStatus());
    EXPECT_EQ(*shared, known);
  });
}

TEST(ShareCrossovers, RejectsInvalidValues) {
  for (const ShmCrossovers& wrong :
       {ShmCrossovers{}, ShmCrossovers{kCrossoverSlot + 1, kCrossoverSlot},
        ShmCrossovers{0, kCrossoverSlot + 128}, ShmCrossovers{0, 0},
        ShmCrossovers{0, 65537}, ShmCrossovers{0, 128}}) {
    on_boards(2, [&](ShmBoard& board) {
      NeverInterrupt interrupt;
      const auto shared = share_crossovers(board, wrong, 0, interrupt);
      ASSERT_EQ(shared.status(), absl::OkStatus());
      EXPECT_EQ(*shared, ShmCrossovers{}) << wrong.step_bytes;
    });
  }
}

// Steps of 64 KiB and more, with a remainder.
TEST(Crossovers, ChangeNoResult) {
  constexpr std::size_t kCount = 100'003;
  for (const ShmCrossovers& ways :
       {ShmCrossovers{0, kCrossoverSlot}, ShmCrossovers{0, 65536},
        ShmCrossovers{8192, 131072}}) {
    on_boards(3, [&](ShmBoard& board) {
      board.set_crossovers(ways);
      ShmPlane plane(board);
      NeverInterrupt interrupt;
      std::uint32_t sequence = 0;
      for (const std::size_t count : {std::size_t{3}, kCount / 50, kCount}) {
        std::vector<std::int32_t> values(count);
        std::iota(values.begin(), values.end(), board.rank());
        const Piece piece = {values.data(), values.data(),
                             static_cast<std::int64_t>(count)};
        ASSERT_EQ(
            plane.allreduce({&piece, 1}, {.dtype = DType::kI32},
                            {{.epoch = 1, .sequence = ++sequence}, interrupt}),
            absl::OkStatus());
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(values[i], static_cast<std::int32_t>(3 * i + 3));
        }
      }
    });
  }
}

}  // namespace
}  // namespace hvd::collective
