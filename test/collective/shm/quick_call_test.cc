// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/quick_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <vector>

#include "horovodpp/collective/shm/plane.h"
#include "test/collective/fleets.h"
#include "test/collective/rank_board.h"

namespace hvd::collective {
namespace {

constexpr ShmOptions kQuickOptions = {.chunk_bytes = 4096, .small_bytes = 1024};
constexpr Reduction kSum = {.dtype = DType::kF32, .op = ReduceOp::kSum};

// Calls body(plane, rank) on each of `ranks` threads.
void on_planes(int ranks,
               const std::function<void(ShmPlane&, int rank)>& body) {
  on_loopback(ranks, [&](transport::Communicator& communicator) {
    RankBoard board(communicator, kQuickOptions);
    ShmPlane plane(board.board());
    body(plane, communicator.rank());
  });
}

// One rank's two tensors, and calls on them.
class Pair {
 public:
  Pair(ShmPlane& plane, int rank) : plane_(plane), rank_(rank) {}

  // Makes call number `call`, by QuickCall or by the plane; returns the
  // outcome.
  absl::Status make(std::uint32_t call, bool quickly, std::uint32_t epoch = 1) {
    fill(call);
    if (quickly && begin(call, epoch)) return absl::OkStatus();
    return finish(call, epoch);
  }
  void fill(std::uint32_t call) {
    a_ = static_cast<float>(call);
    b_[0] = b_[1] = static_cast<float>(rank_);
  }
  bool begin(std::uint32_t call, std::uint32_t epoch = 1) {
    return quick_->run(pieces_, {epoch, call});
  }
  absl::Status finish(std::uint32_t call, std::uint32_t epoch = 1) {
    return finish(call, epoch, never_);
  }
  absl::Status finish(std::uint32_t call, std::uint32_t epoch,
                      transport::Interrupt& interrupt) {
    return plane_.allreduce(pieces_, kSum,
                            {.tag = {epoch, call}, .interrupt = interrupt});
  }
  void expect_sums(std::uint32_t call, int ranks) const {
    ASSERT_EQ(a_, static_cast<float>(call) * static_cast<float>(ranks));
    for (const float b : b_) {
      ASSERT_EQ(b, static_cast<float>(ranks * (ranks - 1) / 2));
    }
  }
  bool is_filled(std::uint32_t call) const {
    return a_ == static_cast<float>(call) && b_[0] == static_cast<float>(rank_);
  }

 private:
  ShmPlane& plane_;
  const int rank_;
  float a_ = 0;
  float b_[2] = {};
  const std::vector<Piece> pieces_ = {{.input = &a_, .output = &a_, .count = 1},
                                      {.input = b_, .output = b_, .count = 2}};
  const std::unique_ptr<QuickCall> quick_ =
      plane_.quick_allreduce(kSum, 3 * sizeof(float));
  NeverInterrupt never_;
};

// Each member makes each call by QuickCall or by the plane, independently.
TEST(ShmQuickCall, IsTheSameCallAsThePlanes) {
  for (const int ranks : {2, 3}) {
    on_planes(ranks, [&](ShmPlane& plane, int rank) {
      Pair pair(plane, rank);
      for (std::uint32_t call = 0; call < 500; ++call) {
        const bool quickly = (call + static_cast<unsigned>(rank)) % 3 != 0;
        ASSERT_EQ(pair.make(call, quickly), absl::OkStatus());
        pair.expect_sums(call, ranks);
      }
    });
  }
}

TEST(ShmQuickCall, ContinuesIfAMemberIsLate) {
  for (const bool is_late_one_quick : {false, true}) {
    std::latch begun(1);
    on_planes(2, [&](ShmPlane& plane, int rank) {
      Pair pair(plane, rank);
      pair.fill(7);
      if (rank == 0) {
        EXPECT_FALSE(pair.begin(7));
        EXPECT_TRUE(pair.is_filled(7));
        begun.count_down();
        ASSERT_EQ(pair.finish(7), absl::OkStatus());
      } else {
        begun.wait();
        ASSERT_EQ(pair.make(7, is_late_one_quick), absl::OkStatus());
      }
      pair.expect_sums(7, 2);
      ASSERT_EQ(pair.make(8, true), absl::OkStatus());
      pair.expect_sums(8, 2);
    });
  }
}

TEST(ShmQuickCall, IsAbandonedWithItsContinuation) {
  std::latch given_up(1);
  on_planes(2, [&](ShmPlane& plane, int rank) {
    Pair pair(plane, rank);
    if (rank == 0) {
      pair.fill(3);
      EXPECT_FALSE(pair.begin(3));
      FailingInterrupt interrupt(0, absl::CancelledError("nobody comes"));
      EXPECT_TRUE(absl::IsCancelled(pair.finish(3, 1, interrupt)));
      EXPECT_TRUE(pair.is_filled(3));
      given_up.count_down();
    } else {
      given_up.wait();
    }
    for (std::uint32_t call = 0; call < 5; ++call) {
      ASSERT_EQ(pair.make(call, call % 2 == 0, 2), absl::OkStatus());
      pair.expect_sums(call, 2);
    }
  });
}

TEST(ShmQuickCall, BarriersHoldEveryRankUntilAllHaveCome) {
  std::atomic<int> arrived{0};
  on_planes(3, [&](ShmPlane& plane, int) {
    NeverInterrupt never;
    const auto quick = plane.quick_barrier();
    ASSERT_NE(quick, nullptr);
    for (std::uint32_t call = 1; call <= 200; ++call) {
      ++arrived;
      if (!quick->run({}, {1, call})) {
        ASSERT_EQ(plane.barrier({.tag = {1, call}, .interrupt = never}),
                  absl::OkStatus());
      }
      ASSERT_GE(arrived.load(), static_cast<int>(3 * call));
    }
  });
}

TEST(ShmQuickCall, IsNullForCallsOfSeveralStepsOrNone) {
  on_planes(2, [](ShmPlane& plane, int) {
    EXPECT_NE(plane.quick_allreduce(kSum, 1024), nullptr);
    EXPECT_EQ(plane.quick_allreduce(kSum, 1025), nullptr);
    EXPECT_EQ(plane.quick_allreduce(kSum, 0), nullptr);
    EXPECT_EQ(plane.quick_allreduce(
                  {.dtype = DType::kF32, .op = ReduceOp::kAdasum}, 4),
              nullptr);
    EXPECT_EQ(plane.quick_allreduce(
                  {.dtype = DType::kBool, .op = ReduceOp::kAverage}, 4),
              nullptr);
  });
  on_planes(1, [](ShmPlane& plane, int) {
    EXPECT_EQ(plane.quick_allreduce(kSum, 4), nullptr);
    EXPECT_EQ(plane.quick_barrier(), nullptr);
  });
}

}  // namespace
}  // namespace hvd::collective
