// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/circuit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "test/collective/fleets.h"

namespace hvd::collective {
namespace {

constexpr int kRingRanks = 3;
constexpr int kRingDepth = 2;
constexpr std::size_t kRingSlot = 64;

using Sizes = std::array<std::size_t, kRingRanks>;

// A rank that gathers the bytes of all ranks, and advances as far as it can per
// step.
class RankOfARing {
 public:
  RankOfARing(transport::LoopbackWorld& world, int rank, const Sizes& sizes)
      : sizes_(sizes),
        mine_(sizes[static_cast<std::size_t>(rank)],
              static_cast<std::byte>(rank + 1)),
        gathered_(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0})),
        communicator_(world.communicator(rank)),
        staging_(2 * kRingDepth, kRingSlot) {
    EXPECT_TRUE(staging_.map().ok());
    std::byte* next = gathered_.data();
    for (const std::size_t bytes : sizes_) {
      places_.push_back(std::exchange(next, next + bytes));
    }
    std::copy(mine_.begin(), mine_.end(),
              places_[static_cast<std::size_t>(rank)]);
    link_ = std::make_unique<ChunkLink>(*communicator_, staging_,
                                        Call{{.epoch = 1}, interrupt_},
                                        test_waiting(kRingRanks));
    circuit_ = std::make_unique<RingCircuit>(
        RingSeat{.shape = {rank, kRingRanks, kRingDepth, kRingSlot},
                 .previous = (rank + kRingRanks - 1) % kRingRanks,
                 .next = (rank + 1) % kRingRanks},
        RingGather{mine_, sizes_, places_}, *link_);
  }

  bool advance() {
    const absl::StatusOr<Advance> state = circuit_->advance();
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() && *state == Advance::kDone;
  }
  const std::vector<std::byte>& gathered() const { return gathered_; }

 private:
  const Sizes sizes_;
  const std::vector<std::byte> mine_;
  std::vector<std::byte> gathered_;
  std::vector<std::byte*> places_;
  const std::unique_ptr<transport::Communicator> communicator_;
  Staging staging_;
  NeverInterrupt interrupt_;
  std::unique_ptr<ChunkLink> link_;
  std::unique_ptr<RingCircuit> circuit_;
};

// One thread plays all ranks, so missing data cannot arrive later.
TEST(RingCircuit, BringsEveryRoundOfEveryRankAround) {
  for (const Sizes& sizes : {Sizes{1000, 1000, 1000},  // Eight rounds.
                             {0, 0, 0},
                             {5, 0, 300},
                             {64, 1, 128}}) {
    transport::LoopbackWorld world(kRingRanks);
    std::vector<std::unique_ptr<RankOfARing>> ranks;
    std::vector<std::byte> expected;
    for (int rank = 0; rank < kRingRanks; ++rank) {
      ranks.push_back(std::make_unique<RankOfARing>(world, rank, sizes));
      expected.insert(expected.end(), sizes[static_cast<std::size_t>(rank)],
                      static_cast<std::byte>(rank + 1));
    }
    std::ptrdiff_t done = 0;
    for (int turn = 0; turn < 1000 && done < kRingRanks; ++turn) {
      done = std::count_if(ranks.begin(), ranks.end(),
                           [](const auto& rank) { return rank->advance(); });
    }
    EXPECT_EQ(done, kRingRanks);
    for (const auto& rank : ranks) EXPECT_EQ(rank->gathered(), expected);
  }
}

}  // namespace
}  // namespace hvd::collective
