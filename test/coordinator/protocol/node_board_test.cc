// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/node_board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hvd::coordinator {
namespace {

class Boards {
 public:
  Boards(int ranks, std::uint32_t slots)
      : memory_(SharedBoard::bytes_needed(slots) / sizeof(Block) + 1) {
    for (int rank = 0; rank < ranks; ++rank) {
      boards_.push_back(std::make_unique<SharedBoard>(
          std::as_writable_bytes(std::span(memory_)), rank, ranks, slots));
    }
  }
  SharedBoard& operator[](int rank) {
    return *boards_[static_cast<std::size_t>(rank)];
  }

 private:
  struct alignas(128) Block {
    std::byte bytes[128] = {};
  };
  std::vector<Block> memory_;
  std::vector<std::unique_ptr<SharedBoard>> boards_;
};

constexpr std::uint64_t kBoth = 0b11;
constexpr std::uint64_t kThree = 0b111;

TEST(NodeBoard, TheLastArriverCompletes) {
  Boards boards(3, 4);
  EXPECT_FALSE(boards[1].arrive(2, 77, kThree));
  EXPECT_FALSE(boards[0].arrive(2, 77, kThree));
  EXPECT_EQ(boards[0].next_completed(), std::nullopt);
  EXPECT_TRUE(boards[2].arrive(2, 77, kThree));
  EXPECT_EQ(boards[0].next_completed(), 77u);
  EXPECT_EQ(boards[0].next_completed(), std::nullopt);
}

TEST(NodeBoard, ArrivingTwiceCountsOnce) {
  Boards boards(2, 4);
  EXPECT_FALSE(boards[0].arrive(0, 5, kBoth));
  EXPECT_FALSE(boards[0].arrive(0, 5, kBoth));
}

TEST(NodeBoard, WaitsForTheMembersAlone) {
  Boards boards(3, 4);
  EXPECT_FALSE(boards[0].arrive(1, 5, 0b101));
  EXPECT_TRUE(boards[2].arrive(1, 5, 0b101));
  EXPECT_EQ(boards[0].next_completed(), 5u);
}

TEST(NodeBoard, ASetOfOneIsCompleteAtOnce) {
  Boards boards(3, 4);
  EXPECT_TRUE(boards[1].arrive(1, 5, 0b010));
  EXPECT_TRUE(boards[2].arrive(2, 6, 0b100));
  EXPECT_EQ(boards[0].next_completed(), 5u);
  EXPECT_EQ(boards[0].next_completed(), 6u);
}

TEST(NodeBoard, ACompleteSlotIsReused) {
  Boards boards(2, 1);
  for (std::uint32_t id = 0; id < 100; ++id) {
    EXPECT_FALSE(boards[id % 2].arrive(0, id, kBoth));
    EXPECT_TRUE(boards[1 - id % 2].arrive(0, id, kBoth));
    EXPECT_EQ(boards[0].next_completed(), id);
  }
}

TEST(NodeBoard, EverySlotMayBeCompleteBeforeTheLeaderLooks) {
  for (const std::uint32_t slots : {1u, 3u, 4u, 7u}) {
    Boards boards(1, slots);
    for (std::uint32_t round = 0; round < 5; ++round) {
      for (std::uint32_t slot = 0; slot < slots; ++slot) {
        EXPECT_TRUE(boards[0].arrive(slot, 100 * round + slot, 1));
      }
      for (std::uint32_t slot = 0; slot < slots; ++slot) {
        EXPECT_EQ(boards[0].next_completed(), 100 * round + slot);
      }
      EXPECT_EQ(boards[0].next_completed(), std::nullopt);
    }
  }
}

TEST(NodeBoard, TheLargestIdComesBackWhole) {
  Boards boards(1, 1);
  EXPECT_TRUE(boards[0].arrive(0, 0xffffffffu, 1));
  EXPECT_EQ(boards[0].next_completed(), 0xffffffffu);
}

TEST(NodeBoard, AWithdrawnArrivalDoesNotCount) {
  Boards boards(2, 4);
  EXPECT_FALSE(boards[0].arrive(0, 5, kBoth));
  boards[0].withdraw(0);
  EXPECT_FALSE(boards[1].arrive(0, 5, kBoth));
  EXPECT_TRUE(boards[0].arrive(0, 5, kBoth));
}

TEST(NodeBoard, WithdrawingKeepsTheOtherMarks) {
  Boards boards(3, 4);
  EXPECT_FALSE(boards[0].arrive(0, 5, kThree));
  EXPECT_FALSE(boards[1].arrive(0, 5, kThree));
  boards[0].withdraw(0);
  boards[2].withdraw(0);
  EXPECT_FALSE(boards[2].arrive(0, 5, kThree));
  EXPECT_TRUE(boards[0].arrive(0, 5, kThree));
}

TEST(NodeBoard, ServesSixtyFourRanks) {
  Boards boards(64, 1);
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  for (int rank = 0; rank < 63; ++rank) {
    EXPECT_FALSE(boards[rank].arrive(0, 1, kAll));
  }
  EXPECT_TRUE(boards[63].arrive(0, 1, kAll));
  EXPECT_FALSE(boards[63].arrive(0, 2, std::uint64_t{0b11} << 62));
  EXPECT_TRUE(boards[62].arrive(0, 2, std::uint64_t{0b11} << 62));
}

TEST(NodeBoard, HasAScheduleWithoutSlots) {
  Boards boards(2, 0);
  EXPECT_EQ(boards[0].next_completed(), std::nullopt);
  const Record record = {.kind = RecordKind::kRun, .id = 1};
  ASSERT_TRUE(boards[0].append(std::vector<Record>{record}));
  EXPECT_EQ(boards[1].next_batch(), std::vector<Record>{record});
}

TEST(NodeBoard, RecordsOfEveryKindComeBackWhole) {
  Boards boards(1, 4);
  std::vector<Record> records;
  for (int kind = 0; kind <= static_cast<int>(kLastRecordKind); ++kind) {
    records.push_back({.kind = static_cast<RecordKind>(kind),
                       .id = 0xfffffffeu,
                       .value = ~std::uint64_t{0},
                       .ends_batch = false});
    records.push_back({.kind = static_cast<RecordKind>(kind), .id = 1});
  }
  ASSERT_TRUE(boards[0].append(records));
  for (std::size_t i = 0; i < records.size(); i += 2) {
    EXPECT_EQ(boards[0].next_batch(),
              std::vector<Record>(records.begin() + static_cast<int>(i),
                                  records.begin() + static_cast<int>(i) + 2));
    boards[0].advance();
  }
  EXPECT_TRUE(boards[0].next_batch().empty());
}

TEST(NodeBoard, AdvancingAnEmptyBoardSkipsNoBatch) {
  Boards boards(1, 4);
  EXPECT_TRUE(boards[0].next_batch().empty());
  boards[0].advance();
  const Record record = {.kind = RecordKind::kRun, .id = 1};
  ASSERT_TRUE(boards[0].append(std::vector<Record>{record}));
  boards[0].advance();
  EXPECT_EQ(boards[0].next_batch(), std::vector<Record>{record});
}

// Longer than the schedule's ring, with batches that straddle its end.
TEST(NodeBoard, TheScheduleGoesOnPastItsLength) {
  Boards boards(2, 4);
  std::uint32_t next = 0;
  std::uint32_t read[2] = {0, 0};
  while (next < 5 * SharedBoard::kScheduleLength) {
    std::vector<Record> batch(
        7,
        {.kind = RecordKind::kRun, .id = 0, .value = 0, .ends_batch = false});
    for (Record& record : batch) record.id = next++;
    batch.back().ends_batch = true;
    ASSERT_TRUE(boards[0].append(batch));
    for (int rank = 0; rank < 2; ++rank) {
      const std::vector<Record> found = boards[rank].next_batch();
      ASSERT_EQ(found.size(), batch.size());
      for (const Record& record : found) EXPECT_EQ(record.id, read[rank]++);
      boards[rank].advance();
    }
  }
}

TEST(NodeBoard, TheNextBatchStaysUntilAdvanced) {
  Boards boards(2, 4);
  EXPECT_TRUE(boards[1].next_batch().empty());
  EXPECT_EQ(boards[1].next_record(), std::nullopt);
  const std::vector<Record> records = {
      {.kind = RecordKind::kRun, .id = 1, .ends_batch = false},
      {.kind = RecordKind::kRun, .id = 2},
      {.kind = RecordKind::kRetire, .id = 3}};
  ASSERT_TRUE(boards[0].append(records));
  const std::vector<Record> first(records.begin(), records.begin() + 2);
  EXPECT_EQ(boards[1].next_record(), records[0]);
  EXPECT_EQ(boards[1].next_batch(), first);
  EXPECT_EQ(boards[1].next_batch(), first);
  EXPECT_EQ(boards[1].next_record(), records[0]);
  boards[1].advance();
  EXPECT_EQ(boards[1].next_record(), records[2]);
  EXPECT_EQ(boards[1].next_batch(), std::vector<Record>{records[2]});
}

TEST(NodeBoard, NeverOverwritesUnreadRecords) {
  Boards boards(2, 4);
  const std::vector<Record> many(kMaxAppend,
                                 {.kind = RecordKind::kRun, .id = 1});
  int appended = 0;
  while (boards[0].append(many)) ++appended;
  ASSERT_GE(appended, 2);
  const auto read_all = [&](int rank) {
    for (int i = 0; i < appended * static_cast<int>(kMaxAppend); ++i) {
      EXPECT_EQ(boards[rank].next_batch().size(), 1u);
      boards[rank].advance();
    }
  };
  read_all(0);
  EXPECT_FALSE(boards[0].append(many));
  read_all(1);
  EXPECT_TRUE(boards[0].append(many));
}

TEST(NodeBoard, AReaderReportsThatTheLeaderWaitsForRoom) {
  Boards boards(2, 4);
  const std::vector<Record> many(kMaxAppend,
                                 {.kind = RecordKind::kRun, .id = 1});
  while (boards[0].append(many)) {
    while (!boards[0].next_batch().empty()) EXPECT_FALSE(boards[0].advance());
  }
  ASSERT_FALSE(boards[1].next_batch().empty());
  EXPECT_TRUE(boards[1].advance());
  for (std::size_t i = 1; i < kMaxAppend; ++i) {
    ASSERT_FALSE(boards[1].next_batch().empty());
    boards[1].advance();
  }
  EXPECT_TRUE(boards[0].append(many));
  ASSERT_FALSE(boards[1].next_batch().empty());
  EXPECT_FALSE(boards[1].advance());
}

TEST(NodeBoard, ThreadsThatArriveAtOnceCompleteOnce) {
  constexpr int kRanks = 4;
  constexpr std::uint32_t kIds = 8;
  constexpr int kSteps = 500;
  Boards boards(kRanks, kIds);
  std::atomic<int> step{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      for (int mine = 0; mine < kSteps; ++mine) {
        while (step.load() < mine) std::this_thread::yield();
        for (std::uint32_t id = 0; id < kIds; ++id) {
          boards[rank].arrive((id + static_cast<std::uint32_t>(rank)) % kIds,
                              (id + static_cast<std::uint32_t>(rank)) % kIds,
                              (std::uint64_t{1} << kRanks) - 1);
        }
        if (rank != 0) continue;
        std::vector<int> seen(kIds, 0);
        for (std::uint32_t count = 0; count < kIds;) {
          if (const auto id = boards[0].next_completed()) {
            ++seen[*id];
            ++count;
          }
        }
        EXPECT_EQ(seen, std::vector<int>(kIds, 1));
        step.store(mine + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(boards[0].next_completed(), std::nullopt);
}

}  // namespace
}  // namespace hvd::coordinator
