// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/board/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr ShmOptions kOptions = {.chunk_bytes = 256, .small_bytes = 0};
constexpr std::size_t kBoardSlot = kOptions.chunk_bytes;
const std::vector<int> kTwo = {0, 1};
const std::vector<int> kThree = {0, 1, 2};

// Calls body(board, segment) on each of `ranks` threads.
template <typename Body>
void on_boards_and_segments(int ranks, Body body) {
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    RankBoard board(communicator, kOptions);
    body(board.board(), board.segment());
  });
}

ShmBoard::Label label_of(std::uint32_t sequence, std::uint32_t epoch = 1) {
  return {.tag = {epoch, sequence}, .kind = 'y'};
}

// Arrives at the next step of the call with `value` in the slot.
void arrive_with(ShmBoard& board, std::uint64_t value) {
  std::memcpy(board.mine(), &value, sizeof(value));
  board.arrive();
}

std::uint64_t value_of(const ShmBoard& board, int peer, std::uint64_t step) {
  std::uint64_t value = 0;
  std::memcpy(&value, board.slot(peer, step), sizeof(value));
  return value;
}

TEST(ShmBoard, SlotsOfFourStepsLieApartWithinTheRegion) {
  on_boards_and_segments(
      2, [](ShmBoard& board, transport::NodeSegment& segment) {
        NeverInterrupt interrupt;
        ASSERT_TRUE(board.begin(kTwo, label_of(1)).ok());
        board.arrive();
        ASSERT_TRUE(board.wait_for_arrivals(0, interrupt).ok());
        std::set<std::byte*> slots;
        for (std::uint64_t step = 5; step < 9; ++step) {
          for (int rank = 0; rank < 2; ++rank)
            slots.insert(board.slot(rank, step));
        }
        EXPECT_EQ(slots.size(), 8u);
        std::byte* before = nullptr;
        for (std::byte* slot : slots) {
          if (before != nullptr) {
            EXPECT_GE(slot - before, std::ptrdiff_t{kBoardSlot});
          }
          before = slot;
        }
        const auto region = segment.payload();
        EXPECT_GE(*slots.begin(), region.data());
        EXPECT_LE(*slots.rbegin() + kBoardSlot, region.data() + region.size());
        EXPECT_EQ(board.slot(1, 5), board.slot(1, 9));
        EXPECT_EQ(board.slot(board.rank(), board.steps()), board.mine());
        board.end();
      });
}

TEST(ShmBoard, ShowsInputsAndResultsAcrossManySteps) {
  on_boards_and_segments(3, [](ShmBoard& board, transport::NodeSegment&) {
    NeverInterrupt interrupt;
    for (std::uint32_t call = 0; call < 30; ++call) {
      ASSERT_TRUE(board.begin(kThree, label_of(call)).ok());
      for (std::uint64_t step = 0; step < call % 7 + 1; ++step) {
        const std::uint64_t number = call * 1000 + step * 10;
        arrive_with(board, number + static_cast<std::uint64_t>(board.rank()));
        ASSERT_TRUE(board.wait_for_arrivals(step, interrupt).ok());
        for (int peer = 0; peer < 3; ++peer) {
          ASSERT_EQ(value_of(board, peer, step),
                    number + static_cast<std::uint64_t>(peer));
        }
        if (board.rank() == 1) {
          std::memcpy(board.slot(1, step) + 64, &step, sizeof(step));
        }
        board.finish(step);
        ASSERT_TRUE(board.wait_for_results(step, interrupt).ok());
        EXPECT_EQ(std::memcmp(board.slot(1, step) + 64, &step, sizeof(step)),
                  0);
      }
      board.end();
    }
  });
}

// Synchronizes two ranks: rank 1 acts once rank 0 listens to its doorbell, and
// rank 0 goes on after the act.
struct Handover {
  std::binary_semaphore listens{0};
  std::binary_semaphore is_done{0};

  void when_the_other_listens(const std::function<void()>& act) {
    listens.acquire();
    act();
    is_done.release();
  }
};

// Interrupt of rank 0's next wait, which only a doorbell ring can wake.
class Listening : public transport::Interrupt {
 public:
  Listening(transport::Doorbell& bell, Handover& handover)
      : bell_(bell), handover_(handover) {}
  absl::Status check() override {
    if (std::exchange(is_over_, true)) return absl::OkStatus();
    constexpr auto kReader = transport::Doorbell::Listener::kReader;
    const std::uint32_t ticket = bell_.listen(kReader);
    handover_.listens.release();
    handover_.is_done.acquire();
    EXPECT_TRUE(bell_.has_rung_since(ticket));
    bell_.leave(kReader);
    return absl::OkStatus();
  }
  // If no ring comes, the wait ends anyway.
  std::optional<Clock::time_point> verdict_due() const override {
    return Clock::now();
  }
  ~Listening() override { EXPECT_TRUE(is_over_) << "the board did not wait"; }

 private:
  transport::Doorbell& bell_;
  Handover& handover_;
  bool is_over_ = false;
};

TEST(ShmBoard, ArrivalsAndFinishesWakeWaiters) {
  Handover handover;
  on_boards_and_segments(
      2, [&](ShmBoard& board, transport::NodeSegment& segment) {
        NeverInterrupt never;
        ASSERT_TRUE(board.begin(kTwo, label_of(1)).ok());
        if (board.rank() == 1) {
          handover.when_the_other_listens([&] { board.arrive(); });
          ASSERT_TRUE(board.wait_for_arrivals(0, never).ok());
          handover.when_the_other_listens([&] { board.finish(0); });
          handover.when_the_other_listens([&] { board.end(); });
          return;
        }
        board.arrive();
        {
          Listening first(segment.doorbell(0), handover);
          ASSERT_TRUE(board.wait_for_arrivals(0, first).ok());
        }
        board.finish(0);
        {
          Listening second(segment.doorbell(0), handover);
          ASSERT_TRUE(board.wait_for_results(0, second).ok());
        }
        board.end();
        // In its next call, without rank 1, rank 0 waits until rank 1 has left
        // this one.
        const std::vector<int> alone = {0};
        ASSERT_TRUE(board.begin(alone, label_of(2)).ok());
        board.arrive();
        Listening third(segment.doorbell(0), handover);
        ASSERT_TRUE(board.wait_for_arrivals(0, third).ok());
        board.end();
      });
}

TEST(ShmBoard, TheLastArrivalWakesTheOthers) {
  std::barrier<> turn(3);
  on_boards_and_segments(
      3, [&](ShmBoard& board, transport::NodeSegment& segment) {
        NeverInterrupt never;
        transport::Doorbell& bell = segment.doorbell(board.rank());
        constexpr auto kReader = transport::Doorbell::Listener::kReader;
        // Rank 0 comes first, and listens. Rank 1 rings only if rank 2 sleeps.
        const auto expect_rings = [&](bool two_sleeps, auto come) {
          const bool listens =
              board.rank() == 0 || (board.rank() == 2 && two_sleeps);
          if (board.rank() == 0) come();
          const std::uint32_t ticket = listens ? bell.listen(kReader) : 0;
          turn.arrive_and_wait();
          if (board.rank() == 1) come();
          turn.arrive_and_wait();
          if (board.rank() == 0) {
            EXPECT_EQ(bell.has_rung_since(ticket), two_sleeps);
          }
          turn.arrive_and_wait();
          if (board.rank() == 2) come();
          turn.arrive_and_wait();
          if (board.rank() == 0) {
            EXPECT_TRUE(bell.has_rung_since(ticket));
          }
          if (listens) bell.leave(kReader);
          turn.arrive_and_wait();
        };
        for (const bool two_sleeps : {false, true}) {
          const std::uint32_t call = two_sleeps ? 2 : 1;
          ASSERT_TRUE(board.begin(kThree, label_of(call)).ok());
          expect_rings(two_sleeps, [&] { board.arrive(); });
          ASSERT_TRUE(board.wait_for_arrivals(0, never).ok());
          expect_rings(two_sleeps, [&] { board.finish(0); });
          ASSERT_TRUE(board.wait_for_results(0, never).ok());
          expect_rings(two_sleeps, [&] { board.arrive(); });
          ASSERT_TRUE(board.wait_for_arrivals(1, never).ok());
          board.end();
        }
      });
}

TEST(ShmBoard, WaitsForReadersOfAnEarlierCall) {
  on_boards_and_segments(3, [](ShmBoard& board, transport::NodeSegment&) {
    NeverInterrupt interrupt;
    const std::vector<int> first = {0, 1};
    const std::vector<int> second = {1, 2};
    if (board.rank() < 2) {
      ASSERT_TRUE(board.begin(first, label_of(1)).ok());
      arrive_with(board, 11);
      ASSERT_TRUE(board.wait_for_arrivals(0, interrupt).ok());
    }
    if (board.rank() == 0) {
      // Rank 1 may arrive at one step of the second call, but no further.
      for (int look = 0; look < 2000; ++look) {
        ASSERT_EQ(value_of(board, 1, 0), 11u);
        std::this_thread::yield();
      }
      board.end();
      return;
    }
    if (board.rank() == 1) board.end();
    ASSERT_TRUE(board.begin(second, label_of(2)).ok());
    for (std::uint64_t step = 0; step < 6; ++step) {
      arrive_with(board, 20 + step);
      ASSERT_TRUE(board.wait_for_arrivals(step, interrupt).ok());
      EXPECT_EQ(value_of(board, 1, step), 20 + step);
    }
    board.end();
  });
}

TEST(ShmBoard, NamesBothCallsOfDivergedRanks) {
  on_boards_and_segments(2, [](ShmBoard& board, transport::NodeSegment&) {
    NeverInterrupt interrupt;
    const ShmBoard::Label reduce = {{4, 7}, 'r', 4096};
    const ShmBoard::Label gather = {{4, 8}, 'g', 16};
    const bool first = board.rank() == 0;
    ASSERT_TRUE(board.begin(kTwo, first ? reduce : gather).ok());
    board.arrive();
    if (!first) return;  // To rank 0, rank 1 is merely ahead.
    const absl::Status status = board.wait_for_arrivals(0, interrupt);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr("local rank 0 is in"),
              HasSubstr("an allreduce of 4096 bytes (epoch 4, sequence 7)"),
              HasSubstr("an allgather of 16 bytes (epoch 4, sequence 8)")));
    EXPECT_EQ(board.give_up(status), status);
    EXPECT_EQ(board.begin(kTwo, gather), status);
  });
}

TEST(ShmBoard, NamesBothCallsIfLabelsDiffer) {
  on_boards_and_segments(2, [](ShmBoard& board, transport::NodeSegment&) {
    NeverInterrupt interrupt;
    const bool first = board.rank() == 0;
    ASSERT_TRUE(
        board.begin(kTwo, {{4, 7}, first ? 's' : 'a', first ? 8u : 0u}).ok());
    board.arrive();
    const absl::Status status = board.wait_for_arrivals(0, interrupt);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("a reducescatter of 8 bytes"),
                      HasSubstr("an alltoall of 0 bytes")));
  });
}

TEST(ShmBoard, AcceptsEqualLabels) {
  for (const transport::DataTag tag :
       {transport::DataTag{0, 0}, transport::DataTag{0xffffffff, 0xffffffff}}) {
    on_boards_and_segments(2, [&](ShmBoard& board, transport::NodeSegment&) {
      NeverInterrupt interrupt;
      ASSERT_TRUE(
          board.begin(kTwo, {tag, 'b', (std::uint64_t{1} << 56) - 1}).ok());
      board.arrive();
      EXPECT_TRUE(board.wait_for_arrivals(0, interrupt).ok());
      board.end();
    });
  }
}

TEST(ShmBoard, AnArrivalInAnAbandonedCallDoesNotCountInTheNext) {
  on_boards_and_segments(3, [](ShmBoard& board, transport::NodeSegment&) {
    NeverInterrupt patient;
    const absl::Status given_up = absl::CancelledError("rank 2 stays away");
    std::uint32_t epoch = 1;
    for (std::uint32_t round = 0; round < 50; ++round, ++epoch) {
      if (board.rank() != 2) {
        FailingInterrupt interrupt(3, given_up);
        ASSERT_TRUE(board.begin(kThree, label_of(round, epoch)).ok());
        arrive_with(board, 666);
        const absl::Status status = board.wait_for_arrivals(0, interrupt);
        ASSERT_EQ(board.give_up(status), given_up);
      }
      ++epoch;
      ASSERT_TRUE(board.begin(kThree, label_of(round, epoch)).ok());
      for (std::uint64_t step = 0; step < round % 6 + 1; ++step) {
        arrive_with(board, round + step);
        ASSERT_TRUE(board.wait_for_arrivals(step, patient).ok());
        for (int peer = 0; peer < 3; ++peer) {
          ASSERT_EQ(value_of(board, peer, step), round + step);
        }
      }
      board.end();
    }
  });
}

TEST(ShmBoard, IsUnusableAfterAnAbandonedCallThatAllEntered) {
  on_boards_and_segments(2, [](ShmBoard& board, transport::NodeSegment&) {
    NeverInterrupt interrupt;
    ASSERT_TRUE(board.begin(kTwo, label_of(1)).ok());
    board.arrive();
    ASSERT_TRUE(board.wait_for_arrivals(0, interrupt).ok());
    const absl::Status status = board.give_up(absl::CancelledError("too late"));
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(board.begin(kTwo, label_of(1, 2)), status);
  });
}

// Calls body(board) on each member of a call that all have entered. A withdrawal
// that waits for a member in vain takes an hour.
template <typename Body>
void in_an_entered_call(const std::vector<int>& members, Body body) {
  ShmOptions options = kOptions;
  options.longest_withdrawal = std::chrono::hours(1);
  on_loopback(static_cast<int>(members.size()),
              [&](transport::Communicator& communicator) {
                RankBoard own(communicator, options);
                ShmBoard& board = own.board();
                NeverInterrupt interrupt;
                ASSERT_TRUE(board.begin(members, label_of(1)).ok());
                board.arrive();
                ASSERT_TRUE(board.wait_for_arrivals(0, interrupt).ok());
                body(board);
              });
}

TEST(ShmBoard, AWithdrawalDoesNotWaitForALostMember) {
  in_an_entered_call(kThree, [](ShmBoard& board) {
    if (board.rank() == 2) return;  // It finishes nothing.
    if (board.rank() == 0) board.mark_lost(2);
    board.withdraw(0);
  });
}

TEST(ShmBoard, MembersThatSeeAWithdrawalWithdraw) {
  std::atomic<bool> has_withdrawn = false;
  in_an_entered_call(kTwo, [&](ShmBoard& board) {
    if (board.rank() == 0) {
      board.withdraw(0);
      has_withdrawn = true;
      return;
    }
    absl::Status status;
    while (status.ok() && !has_withdrawn) status = board.check_no_withdrawal();
    EXPECT_THAT(std::string(status.message()), HasSubstr("local rank 0 gave"));
  });
}

// All ranks enter, and each is told to abandon the call at a different time.
TEST(ShmBoard, AVoteIsUnanimous) {
  constexpr std::uint32_t kRounds = 400;
  std::vector<std::atomic<int>> gone_on(kRounds);
  on_boards_and_segments(3, [&](ShmBoard& board, transport::NodeSegment&) {
    NeverInterrupt patient;
    std::mt19937 pace(static_cast<unsigned>(board.rank()));
    std::uint32_t epoch = 1;
    for (std::uint32_t round = 0; round < kRounds; ++round, epoch += 2) {
      for (auto pause = pace() % 6; pause > 0; --pause) {
        std::this_thread::yield();
      }
      FailingInterrupt interrupt(
          static_cast<int>(pace() % 12),
          absl::CancelledError("somebody elsewhere stays away"));
      ShmBoard::Label label = label_of(round, epoch);
      label.votes = true;
      ASSERT_TRUE(board.begin(kThree, label).ok());
      arrive_with(board, round);
      const absl::Status status = board.wait_for_arrivals(0, interrupt);
      if (status.ok()) {
        ++gone_on[round];
        arrive_with(board, round + 1);
        ASSERT_EQ(board.wait_for_arrivals(1, interrupt), absl::OkStatus());
        board.end();
      } else {
        ASSERT_TRUE(absl::IsCancelled(status)) << status;
        ASSERT_EQ(board.give_up(status), status);
      }
      // If all went on: the second call of the tag. Else: a call with a later
      // tag.
      label = label_of(round, status.ok() ? epoch : epoch + 1);
      label.second = status.ok();
      ASSERT_TRUE(board.begin(kThree, label).ok());
      arrive_with(board, round + 2);
      ASSERT_EQ(board.wait_for_arrivals(0, patient), absl::OkStatus());
      for (int peer = 0; peer < 3; ++peer) {
        ASSERT_EQ(value_of(board, peer, 0), round + 2);
      }
      ASSERT_EQ(gone_on[round].load(), status.ok() ? 3 : 0);
      board.end();
    }
  });
}

// As above, while some ranks also vote on another call. These votes must not
// count for the first call.
TEST(ShmBoard, KeepsVotesOfOverlappingSetsApart) {
  constexpr std::uint32_t kRounds = 400;
  const std::vector<std::vector<int>> pairs = {{0, 1}, {0, 2}, {1, 2}};
  std::vector<std::atomic<int>> all_gone_on(kRounds);
  std::vector<std::atomic<int>> pair_gone_on(kRounds);
  on_boards_and_segments(3, [&](ShmBoard& board, transport::NodeSegment&) {
    std::mt19937 pace(static_cast<unsigned>(board.rank()) + 10);
    const auto vote_on = [&](const std::vector<int>& members,
                             ShmBoard::Label label, std::atomic<int>& gone_on) {
      for (auto pause = pace() % 6; pause > 0; --pause) {
        std::this_thread::yield();
      }
      FailingInterrupt interrupt(
          static_cast<int>(pace() % 12),
          absl::CancelledError("somebody elsewhere stays away"));
      label.votes = true;
      ASSERT_TRUE(board.begin(members, label).ok());
      arrive_with(board, 1);
      const absl::Status status = board.wait_for_arrivals(0, interrupt);
      if (status.ok()) {
        ++gone_on;
        return board.end();
      }
      ASSERT_TRUE(absl::IsCancelled(status)) << status;
      ASSERT_EQ(board.give_up(status), status);
    };
    NeverInterrupt patient;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::vector<int>& pair = pairs[round % pairs.size()];
      const std::uint32_t epoch = 3 * round + 1;
      vote_on(kThree, label_of(round, epoch), all_gone_on[round]);
      if (std::count(pair.begin(), pair.end(), board.rank()) > 0) {
        vote_on(pair, label_of(round, epoch + 1), pair_gone_on[round]);
      }
      ASSERT_TRUE(board.begin(kThree, label_of(round, epoch + 2)).ok());
      board.arrive();
      ASSERT_EQ(board.wait_for_arrivals(0, patient), absl::OkStatus());
      board.end();
      EXPECT_THAT(all_gone_on[round].load(), ::testing::AnyOf(0, 3));
      EXPECT_THAT(pair_gone_on[round].load(), ::testing::AnyOf(0, 2));
    }
  });
}

}  // namespace
}  // namespace hvd::collective
