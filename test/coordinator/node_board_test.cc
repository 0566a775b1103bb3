#include "horovodpp/coordinator/node_board.h"

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

TEST(NodeBoard, TheLastArriverCompletes) {
  Boards boards(3, 4);
  EXPECT_FALSE(boards[1].arrive(2, 77));
  EXPECT_FALSE(boards[0].arrive(2, 77));
  EXPECT_EQ(boards[0].next_completed(), std::nullopt);
  EXPECT_TRUE(boards[2].arrive(2, 77));
  EXPECT_EQ(boards[0].next_completed(), 77u);
  EXPECT_EQ(boards[0].next_completed(), std::nullopt);
}

TEST(NodeBoard, ArrivingTwiceCountsOnce) {
  Boards boards(2, 4);
  EXPECT_FALSE(boards[0].arrive(0, 5));
  EXPECT_FALSE(boards[0].arrive(0, 5));
}

TEST(NodeBoard, AWithdrawnArrivalDoesNotCount) {
  Boards boards(2, 4);
  EXPECT_FALSE(boards[0].arrive(0, 5));
  boards[0].withdraw(0);
  EXPECT_FALSE(boards[1].arrive(0, 5));
  EXPECT_TRUE(boards[0].arrive(0, 5));
}

TEST(NodeBoard, ServesSixtyFourRanks) {
  Boards boards(64, 1);
  for (int rank = 0; rank < 63; ++rank) EXPECT_FALSE(boards[rank].arrive(0, 1));
  EXPECT_TRUE(boards[63].arrive(0, 1));
}

TEST(NodeBoard, ABatchStaysTheNextOneUntilItIsPassed) {
  Boards boards(2, 4);
  EXPECT_TRUE(boards[1].next_batch().empty());
  const std::vector<Record> records = {{RecordKind::kRun, 1, false},
                                       {RecordKind::kRun, 2, true},
                                       {RecordKind::kRetire, 3, true}};
  ASSERT_TRUE(boards[0].append(records));
  const std::vector<Record> first(records.begin(), records.begin() + 2);
  EXPECT_EQ(boards[1].next_batch(), first);
  EXPECT_EQ(boards[1].next_batch(), first);
  boards[1].advance();
  EXPECT_EQ(boards[1].next_batch(), std::vector<Record>{records[2]});
}

TEST(NodeBoard, NeverOverwritesWhatASlowReaderHasNotRead) {
  Boards boards(2, 4);
  const std::vector<Record> many(kMaxAppend, {RecordKind::kRun, 1, true});
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

TEST(NodeBoard, AReaderSaysThatTheLeaderWaitsForRoom) {
  Boards boards(2, 4);
  const std::vector<Record> many(kMaxAppend, {RecordKind::kRun, 1, true});
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
                              (id + static_cast<std::uint32_t>(rank)) % kIds);
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
