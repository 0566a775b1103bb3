// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/arena/table.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hvd::collective {
namespace {

constexpr std::size_t kSlotBytes = 256;

// The maps of some ranks in one process, and the slots through which they
// exchange tables.
class ArenaTableTest : public ::testing::Test {
 protected:
  struct alignas(128) Line {
    std::byte bytes[128] = {};
  };

  ArenaTableTest() : lists_(ArenaMap::bytes_needed(kRanks) / sizeof(Line) + 1) {
    const auto region = std::as_writable_bytes(std::span(lists_))
                            .first(ArenaMap::bytes_needed(kRanks));
    for (int rank = 0; rank < kRanks; ++rank) {
      arenas_.push_back(
          std::make_shared<Arena>(Arena::Options{.first_extent_bytes = 4096}));
      maps_.push_back(std::make_unique<ArenaMap>(
          arenas_.back(), ArenaMap::Place{.rank = rank, .ranks = kRanks},
          region));
    }
  }

  float* in_arena(int rank, std::size_t count) {
    return static_cast<float*>(
        *arenas_[static_cast<std::size_t>(rank)]->allocate(count *
                                                           sizeof(float)));
  }
  static Piece in_place(float* at, std::int64_t count) {
    return {.input = at, .output = at, .count = count};
  }

  // Writes each member's table of `pieces`, then sorts each member's pieces by
  // all tables.
  std::vector<ArenaTable::Sorted> exchange(
      const std::vector<int>& members,
      const std::vector<std::vector<Piece>>& pieces) {
    std::vector<std::vector<std::byte>> slots(
        members.size(), std::vector<std::byte>(kSlotBytes));
    std::vector<std::span<const std::byte>> views;
    for (std::size_t m = 0; m < members.size(); ++m) {
      ArenaTable::write(slots[m], map(members[m]), pieces[m], sizeof(float));
      views.emplace_back(slots[m]);
    }
    std::vector<ArenaTable::Sorted> sorted;
    for (std::size_t m = 0; m < members.size(); ++m) {
      sorted.push_back(ArenaTable::sort({.map = map(members[m]),
                                         .members = members,
                                         .slots = views,
                                         .ranks = kRanks},
                                        pieces[m], sizeof(float)));
    }
    return sorted;
  }

  // Exchanges tables, then writes new ones; returns the slots of all members.
  std::vector<std::vector<std::byte>> tables(
      const std::vector<int>& members,
      const std::vector<std::vector<Piece>>& pieces) {
    exchange(members, pieces);
    std::vector<std::vector<std::byte>> slots(
        members.size(), std::vector<std::byte>(kSlotBytes));
    for (std::size_t m = 0; m < members.size(); ++m) {
      ArenaTable::write(slots[m], map(members[m]), pieces[m], sizeof(float));
    }
    return slots;
  }

  ArenaMap& map(int rank) { return *maps_[static_cast<std::size_t>(rank)]; }

  static constexpr int kRanks = 3;
  std::vector<Line> lists_;
  std::vector<std::shared_ptr<Arena>> arenas_;
  std::vector<std::unique_ptr<ArenaMap>> maps_;
};

TEST_F(ArenaTableTest, UsesArenasOnceAllRanksMapThem) {
  float* const a = in_arena(0, 100);
  float* const b = in_arena(2, 100);
  const std::vector<std::vector<Piece>> pieces = {{in_place(a, 100)},
                                                  {in_place(b, 100)}};
  // The first tables list the extents; the second ones tell which ranks have
  // mapped them.
  for (const auto& sorted : exchange({0, 2}, pieces)) {
    EXPECT_EQ(sorted.runs.total, 0);
    EXPECT_EQ(sorted.foreign.size(), 1u);
  }
  for (const auto& sorted : exchange({0, 2}, pieces)) {
    EXPECT_EQ(sorted.runs.total, 100);
    EXPECT_EQ(sorted.runs.counts, std::vector<std::int64_t>{100});
    const auto* const first = reinterpret_cast<std::byte*>(a);
    const auto* const second = reinterpret_cast<std::byte*>(b);
    ASSERT_EQ(sorted.runs.inputs.size(), 2u);
    EXPECT_EQ(sorted.runs.inputs[0], first);
    EXPECT_EQ(sorted.runs.inputs[1], second);
    EXPECT_EQ(sorted.runs.outputs, sorted.runs.inputs);
    EXPECT_TRUE(sorted.foreign.empty());
  }
}

TEST_F(ArenaTableTest, APieceOutsideOneArenaIsForeignToAll) {
  float elsewhere[32] = {};
  std::vector<std::vector<Piece>> pieces(3);
  for (int rank = 0; rank < 3; ++rank) {
    float* const base = in_arena(rank, 96);
    float* const middle = rank == 1 ? elsewhere : base + 32;
    pieces[static_cast<std::size_t>(rank)] = {
        in_place(base, 32), in_place(middle, 32), in_place(base + 64, 32)};
  }
  exchange({0, 1, 2}, pieces);
  const auto sorted = exchange({0, 1, 2}, pieces);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(sorted[rank].runs.counts, (std::vector<std::int64_t>{32, 32}));
    ASSERT_EQ(sorted[rank].foreign.size(), 1u);
    EXPECT_EQ(sorted[rank].foreign[0].input, pieces[rank][1].input);
  }
}

TEST_F(ArenaTableTest, InputsAreFoundPieceByPieceWhereAllHaveThem) {
  float elsewhere[32] = {};
  std::vector<std::vector<Piece>> pieces(3);
  for (int rank = 0; rank < 3; ++rank) {
    float* const base = in_arena(rank, 64);
    float* const second = rank == 2 ? elsewhere : base + 32;
    pieces[static_cast<std::size_t>(rank)] = {in_place(base, 32),
                                              in_place(second, 32)};
  }
  const std::vector<int> members = {0, 1, 2};
  const auto slots = tables(members, pieces);
  const std::vector<std::span<const std::byte>> views(slots.begin(),
                                                      slots.end());
  for (int rank = 0; rank < 3; ++rank) {
    const ArenaTable::Reading reading = {
        .map = map(rank), .members = members, .slots = views, .ranks = kRanks};
    const ArenaTable::Inputs inputs(reading, 2);
    std::vector<const void*> found(3);
    ASSERT_TRUE(inputs.find(0, 128, found));
    for (std::size_t m = 0; m < 3; ++m) {
      EXPECT_EQ(found[m], pieces[m][0].input);
    }
    EXPECT_FALSE(inputs.find(1, 128, found));
    EXPECT_FALSE(inputs.find(2, 128, found));  // No table lists it.
  }
}

TEST_F(ArenaTableTest, ListsRanksWithForeignPieces) {
  float elsewhere[32] = {};
  float* const base = in_arena(0, 32);
  const std::vector<std::vector<Piece>> pieces = {
      {in_place(base, 32), in_place(base, 8)},
      {in_place(in_arena(1, 32), 32), in_place(elsewhere, 8)}};
  const auto slots = tables({0, 1}, pieces);
  const auto tells = [&](std::size_t rank, std::size_t of,
                         ArenaTable::Share share) {
    return ArenaTable::lists_foreign(slots[rank], of, kRanks, share);
  };
  using enum ArenaTable::Share;
  EXPECT_FALSE(tells(0, 2, kAny));
  EXPECT_FALSE(tells(1, 1, kAny));
  EXPECT_TRUE(tells(1, 2, kAny));
  EXPECT_FALSE(tells(1, 2, kAll));
  const std::vector<std::vector<Piece>> foreign = {
      {in_place(elsewhere, 4), in_place(elsewhere + 4, 4)}};
  const auto others = tables({0}, foreign);
  EXPECT_TRUE(ArenaTable::lists_foreign(others[0], 2, kRanks, kAll));
}

TEST_F(ArenaTableTest, NeighboursBecomeOneRunIfTheyAreOnEveryRank) {
  float* const a = in_arena(0, 96);
  float* const b = in_arena(1, 96);
  const std::vector<std::vector<Piece>> together = {
      {in_place(a, 32), in_place(a, 0), in_place(a + 32, 64)},
      {in_place(b, 32), in_place(b, 0), in_place(b + 32, 64)}};
  exchange({0, 1}, together);
  EXPECT_EQ(exchange({0, 1}, together)[0].runs.counts,
            std::vector<std::int64_t>{96});
  const std::vector<std::vector<Piece>> apart = {
      {in_place(a, 32), in_place(a + 32, 32)},
      {in_place(b, 32), in_place(b + 64, 32)}};
  EXPECT_EQ(exchange({0, 1}, apart)[1].runs.counts,
            (std::vector<std::int64_t>{32, 32}));
}

TEST_F(ArenaTableTest, OutputsMayLieApartFromInputs) {
  float* const a = in_arena(0, 64);
  float* const b = in_arena(1, 64);
  float elsewhere[32] = {};
  const std::vector<std::vector<Piece>> pieces = {
      {{.input = a, .output = a + 32, .count = 32}},
      {{.input = b + 32, .output = b, .count = 32}}};
  exchange({0, 1}, pieces);
  const auto sorted = exchange({0, 1}, pieces);
  EXPECT_EQ(sorted[0].runs.outputs[0], reinterpret_cast<std::byte*>(a + 32));
  EXPECT_EQ(sorted[0].runs.outputs[1], reinterpret_cast<std::byte*>(b));
  const std::vector<std::vector<Piece>> out = {
      {{.input = a, .output = elsewhere, .count = 32}}, pieces[1]};
  EXPECT_EQ(exchange({0, 1}, out)[0].runs.total, 0);
}

TEST_F(ArenaTableTest, APieceWithoutRoomInTheSlotIsForeign) {
  float* const a = in_arena(0, 32 * 64);
  float* const b = in_arena(1, 32 * 64);
  std::vector<std::vector<Piece>> pieces(2);
  for (int i = 0; i < 64; ++i) {
    pieces[0].push_back(in_place(a + 32 * i, 32));
    pieces[1].push_back(in_place(b + 32 * i, 32));
  }
  exchange({0, 1}, pieces);
  const auto sorted = exchange({0, 1}, pieces)[0];
  EXPECT_GT(sorted.runs.total, 0);
  EXPECT_GT(sorted.foreign.size(), 0u);
  EXPECT_EQ(
      sorted.runs.total + static_cast<std::int64_t>(sorted.foreign.size()) * 32,
      64 * 32);
}

TEST_F(ArenaTableTest, InvalidPlacesAreForeign) {
  float* const a = in_arena(0, 32);
  float* const b = in_arena(1, 32);
  const std::vector<Piece> mine = {in_place(a, 32)};
  const std::vector<Piece> theirs = {in_place(b, 32)};
  exchange({0, 1}, {mine, theirs});
  std::vector<std::byte> slots[2] = {std::vector<std::byte>(kSlotBytes),
                                     std::vector<std::byte>(kSlotBytes)};
  ArenaTable::write(slots[0], map(0), mine, sizeof(float));
  ArenaTable::write(slots[1], map(1), theirs, sizeof(float));
  const std::vector<int> members = {0, 1};
  const std::vector<std::span<const std::byte>> views = {slots[0], slots[1]};
  const ArenaTable::Reading reading = {
      .map = map(0), .members = members, .slots = views, .ranks = kRanks};
  ASSERT_EQ(ArenaTable::sort(reading, mine, sizeof(float)).runs.total, 32);
  for (std::size_t at = 16; at < 32; ++at) {
    const std::byte before = slots[1][at];
    for (const int value : {0x7f, 0xff}) {
      slots[1][at] = static_cast<std::byte>(value);
      // However corrupt the tables are, no address outside the extents is used.
      const auto sorted = ArenaTable::sort(reading, mine, sizeof(float));
      for (std::byte* const input : sorted.runs.inputs) {
        const bool known = arenas_[0]->find(input, 128).has_value() ||
                           arenas_[1]->find(input, 128).has_value();
        EXPECT_TRUE(known);
      }
    }
    slots[1][at] = before;
  }
}

TEST(ArenaTable, NeedsASlotForAllRanksAndAPiece) {
  EXPECT_FALSE(ArenaTable::fits(0, 1));
  EXPECT_FALSE(ArenaTable::fits(16, 1));
  EXPECT_TRUE(ArenaTable::fits(32, 1));
  EXPECT_FALSE(ArenaTable::fits(256, 64));
}

}  // namespace
}  // namespace hvd::collective
