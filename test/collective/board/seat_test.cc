// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/board/seat.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {
namespace {

// Calls body(seat) for the first of `members`, with slots of 256 bytes.
void on_seat(std::span<const int> members,
             const std::function<void(const BoardSeat&)>& body) {
  constexpr ShmOptions kSeatOptions = {.chunk_bytes = 256, .small_bytes = 0};
  on_loopback(1, [&](transport::Communicator& communicator) {
    RankBoard board(communicator, kSeatOptions);
    SlotWriter writer;
    NeverInterrupt interrupt;
    body({.board = board.board(),
          .members = members,
          .rank = 0,
          .writer = writer,
          .interrupt = interrupt});
  });
}

TEST(BoardSeat, SlicesAllElementsByWholeCacheLines) {
  const std::vector<int> members = {0, 1, 2};
  on_seat(members, [](const BoardSeat& seat) {
    for (const std::size_t element_bytes : {1u, 2u, 4u, 8u}) {
      for (const std::int64_t count : {0, 1, 31, 32, 33, 64, 1000, 4096}) {
        std::int64_t end = 0;
        for (int position = 0; position < seat.ranks(); ++position) {
          const Range slice = seat.slice_of(position, count, element_bytes);
          EXPECT_EQ(slice.begin, end);
          EXPECT_GE(slice.count, 0);
          end = slice.begin + slice.count;
          const auto bytes = static_cast<std::size_t>(end) * element_bytes;
          EXPECT_TRUE(end == count || bytes % ShmBoard::kAlignment == 0);
        }
        EXPECT_EQ(end, count);
      }
    }
  });
}

TEST(BoardSeat, TakesAStepPerChunkAndOneForAnEmptyCall) {
  const std::vector<int> members = {0};
  on_seat(members, [](const BoardSeat& seat) {
    ASSERT_EQ(seat.chunk_bytes(), 256u);
    EXPECT_EQ(seat.steps_for(0), 1u);
    EXPECT_EQ(seat.steps_for(256), 1u);
    EXPECT_EQ(seat.steps_for(257), 2u);
    EXPECT_EQ(seat.steps_for(1024), 4u);
  });
}

}  // namespace
}  // namespace hvd::collective
