#include "horovodpp/collective/shm_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "test/collective/fleets.h"

namespace hvd::collective {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kSlot = 256;

// Calls body(board, segment) on each of `ranks` threads.
template <typename Body>
void on_boards(int ranks, Body body) {
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    const auto topology =
        Topology::from_peers(communicator.rank(), communicator.peers());
    auto segment = transport::NodeSegment::open(
        communicator, *topology, ShmBoard::bytes_needed(ranks, kSlot), soon());
    ASSERT_TRUE(segment.ok()) << segment.status();
    ShmBoard board(**segment, (*segment)->payload(), kSlot,
                   test_waiting(ranks));
    body(board, **segment);
  });
}

TEST(ShmBoard, SlotsOfThreeStepsLieApartWithinTheRegion) {
  on_boards(2, [](ShmBoard& board, transport::NodeSegment& segment) {
    std::set<std::byte*> slots;
    for (std::uint64_t step = 5; step < 8; ++step) {
      for (int rank = 0; rank < 2; ++rank) {
        slots.insert(board.input(rank, step));
      }
      slots.insert(board.result(step));
    }
    EXPECT_EQ(slots.size(), 9u);
    std::byte* before = nullptr;
    for (std::byte* slot : slots) {
      if (before != nullptr) {
        EXPECT_GE(slot - before, std::ptrdiff_t{kSlot});
      }
      before = slot;
    }
    const auto region = segment.payload();
    EXPECT_GE(*slots.begin(), region.data());
    EXPECT_LE(*slots.rbegin() + kSlot, region.data() + region.size());
    EXPECT_EQ(board.input(1, 5), board.input(1, 8));
  });
}

TEST(ShmBoard, ShowsInputsAndResultsAcrossManySteps) {
  on_boards(3, [](ShmBoard& board, transport::NodeSegment&) {
    PatientWatch watch;
    for (std::uint64_t step = 0; step < 300; ++step) {
      const auto mine = step * 10 + static_cast<std::uint64_t>(board.rank());
      std::memcpy(board.input(board.rank(), step), &mine, sizeof(mine));
      board.arrive(step, {.tag = {1, 1}, .kind = 'y'});
      ASSERT_TRUE(board.wait_for_arrivals(step, watch).ok());
      for (int peer = 0; peer < 3; ++peer) {
        std::uint64_t theirs = 0;
        std::memcpy(&theirs, board.input(peer, step), sizeof(theirs));
        ASSERT_EQ(theirs, step * 10 + static_cast<std::uint64_t>(peer));
      }
      if (board.rank() == 1) {
        std::memcpy(board.result(step), &step, sizeof(step));
      }
      board.finish(step);
      ASSERT_TRUE(board.wait_for_results(step, watch).ok());
      EXPECT_EQ(std::memcmp(board.result(step), &step, sizeof(step)), 0);
    }
  });
}

TEST(ShmBoard, NamesBothCallsWhereRanksHaveComeApart) {
  on_boards(2, [](ShmBoard& board, transport::NodeSegment&) {
    PatientWatch watch;
    const ShmBoard::Label reduce = {{4, 7}, 'r', 4096};
    const ShmBoard::Label gather = {{4, 8}, 'g', 16};
    const bool first = board.rank() == 0;
    board.arrive(0, first ? reduce : gather);
    ASSERT_TRUE(board.wait_for_arrivals(0, watch).ok());
    const absl::Status status = board.check_labels(0, first ? reduce : gather);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr(first ? "local rank 0 is in" : "local rank 1 is in"),
              HasSubstr("an allreduce of 4096 bytes (epoch 4, sequence 7)"),
              HasSubstr("an allgather of 16 bytes (epoch 4, sequence 8)")));
  });
}

TEST(ShmBoard, AcceptsEqualLabels) {
  on_boards(2, [](ShmBoard& board, transport::NodeSegment&) {
    PatientWatch watch;
    const ShmBoard::Label label = {
        {0xffffffff, 0xffffffff}, 'b', (std::uint64_t{1} << 56) - 1};
    board.arrive(0, label);
    ASSERT_TRUE(board.wait_for_arrivals(0, watch).ok());
    EXPECT_TRUE(board.check_labels(0, label).ok());
  });
}

}  // namespace
}  // namespace hvd::collective
