// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/circuit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "test/collective/fleets.h"

namespace hvd::collective {
namespace {

constexpr int kRingRanks = 3;
constexpr int kRingDepth = 2;
constexpr std::size_t kRingSlot = 64;

// A rank that gathers the bytes of all ranks, and advances as far as it can per
// step.
class RankOfARing {
 public:
  RankOfARing(transport::LoopbackWorld& world, int rank, std::size_t bytes)
      : bytes_of_rank_(kRingRanks, bytes),
        mine_(bytes, static_cast<std::byte>(rank + 1)),
        gathered_(kRingRanks * bytes),
        communicator_(world.communicator(rank)),
        staging_(2 * kRingDepth, kRingSlot) {
    EXPECT_TRUE(staging_.map().ok());
    for (std::size_t r = 0; r < kRingRanks; ++r) {
      places_.push_back(gathered_.data() + r * bytes);
    }
    std::copy(mine_.begin(), mine_.end(),
              places_[static_cast<std::size_t>(rank)]);
    const RingShape shape = {rank, kRingRanks, kRingDepth, kRingSlot};
    link_ = std::make_unique<ChunkLink>(*communicator_, staging_,
                                        Call{{.epoch = 1}, interrupt_},
                                        test_waiting(kRingRanks));
    flow_ =
        std::make_unique<AllgatherFlow>(shape, mine_, bytes_of_rank_, places_);
    circuit_ = std::make_unique<RingCircuit>(
        RingSeat{.shape = shape,
                 .previous = (rank + kRingRanks - 1) % kRingRanks,
                 .next = (rank + 1) % kRingRanks},
        *flow_, *link_);
  }

  bool advance() {
    const absl::StatusOr<Advance> state = circuit_->advance();
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() && *state == Advance::kDone;
  }
  const std::vector<std::byte>& gathered() const { return gathered_; }

 private:
  const std::vector<std::size_t> bytes_of_rank_;
  const std::vector<std::byte> mine_;
  std::vector<std::byte> gathered_;
  std::vector<std::byte*> places_;
  const std::unique_ptr<transport::Communicator> communicator_;
  Staging staging_;
  NeverInterrupt interrupt_;
  std::unique_ptr<ChunkLink> link_;
  std::unique_ptr<AllgatherFlow> flow_;
  std::unique_ptr<RingCircuit> circuit_;
};

// One thread plays all ranks, so missing data cannot arrive later.
TEST(RingCircuit, BringsEveryRoundOfEveryRankAround) {
  constexpr std::size_t kBytes = 1000;  // Eight rounds.
  transport::LoopbackWorld world(kRingRanks);
  std::vector<std::unique_ptr<RankOfARing>> ranks;
  std::vector<std::byte> expected;
  for (int rank = 0; rank < kRingRanks; ++rank) {
    ranks.push_back(std::make_unique<RankOfARing>(world, rank, kBytes));
    expected.insert(expected.end(), kBytes, static_cast<std::byte>(rank + 1));
  }
  std::ptrdiff_t done = 0;
  for (int turn = 0; turn < 1000 && done < kRingRanks; ++turn) {
    done = std::count_if(ranks.begin(), ranks.end(),
                         [](const auto& rank) { return rank->advance(); });
  }
  EXPECT_EQ(done, kRingRanks);
  for (const auto& rank : ranks) EXPECT_EQ(rank->gathered(), expected);
}

}  // namespace
}  // namespace hvd::collective
