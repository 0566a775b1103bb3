#include "horovodpp/collective/hierarchical_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace hvd::collective {
namespace {

constexpr std::size_t kSlot = 64;
constexpr int kDepth = 2;

// One lane between some nodes, each of which puts its number plus one into
// every accumulator: of an average of int16, which adds up int32.
class Lane {
 public:
  Lane(int nodes, const Range& range, const Needed& needed)
      : kernel_({.dtype = DType::kI16, .op = ReduceOp::kAverage}, nodes) {
    const auto count = static_cast<std::size_t>(range.count);
    for (int node = 0; node < nodes; ++node) {
      accumulators_.emplace_back(count, node + 1);
      results_.emplace_back(count, std::int16_t{-1});
    }
    for (int node = 0; node < nodes; ++node) {
      const auto at = static_cast<std::size_t>(node);
      const LaneData data = {
          .accumulators =
              reinterpret_cast<std::byte*>(accumulators_[at].data()),
          .results = reinterpret_cast<std::byte*>(results_[at].data()),
          .range = range};
      flows_.push_back(std::make_unique<LaneFlow>(
          RingShape{node, nodes, kDepth, kSlot}, data, kernel_, needed));
    }
  }

  // Without a wire: each segment's chunks go around one after the other.
  void circulate() {
    const int nodes = static_cast<int>(flows_.size());
    for (std::int64_t round = 0; round < flows_[0]->rounds(); ++round) {
      for (int segment = 0; segment < nodes; ++segment) {
        for (int chunk = 0; chunk < kDepth; ++chunk) {
          carry({.round = round, .segment = segment, .chunk = chunk});
        }
      }
    }
  }

  const std::vector<std::int16_t>& results(int node) const {
    return results_[static_cast<std::size_t>(node)];
  }
  std::size_t sent() const { return sent_; }

 private:
  void carry(RingChunk chunk) {
    const int nodes = static_cast<int>(flows_.size());
    alignas(16) std::byte slot[kSlot];
    LaneFlow& first = *flows_[static_cast<std::size_t>(chunk.segment)];
    if (first.bytes(chunk) == 0) return;
    first.load(chunk, slot);
    for (; chunk.step < first.steps(); ++chunk.step) {
      const int to = (chunk.segment + chunk.step + 1) % nodes;
      LaneFlow& flow = *flows_[static_cast<std::size_t>(to)];
      const std::size_t bytes = flow.bytes(chunk);
      ASSERT_LE(bytes, kSlot);
      if (bytes == 0) return;
      sent_ += bytes;
      flow.receive(chunk, slot);
    }
  }

  const ReduceKernel kernel_;
  std::vector<std::vector<std::int32_t>> accumulators_;
  std::vector<std::vector<std::int16_t>> results_;
  std::vector<std::unique_ptr<LaneFlow>> flows_;
  std::size_t sent_ = 0;
};

TEST(LaneFlow, MergesWhatNodesHaveReducedAndBringsResultsToAll) {
  for (const int nodes : {2, 3, 5}) {
    for (const std::int64_t count : {0, 1, 16, 17, 1000}) {
      const Needed by_all;
      Lane lane(nodes, {0, count}, by_all);
      lane.circulate();
      const auto average = static_cast<std::int16_t>((nodes + 1) / 2);
      for (int node = 0; node < nodes; ++node) {
        EXPECT_EQ(lane.results(node),
                  std::vector<std::int16_t>(static_cast<std::size_t>(count),
                                            average));
      }
      // Accumulators of four bytes, then results of two.
      const auto hops = static_cast<std::size_t>(nodes - 1);
      EXPECT_EQ(lane.sent(), hops * static_cast<std::size_t>(count) * 6);
    }
  }
}

TEST(LaneFlow, SendsResultsNoFurtherThanTheyAreNeeded) {
  constexpr int kNodes = 3;
  constexpr Range kRange = {1000, 600};
  // The whole goes to the nodes in stretches of a hundred.
  const auto owner = [](std::int64_t element) {
    return static_cast<int>(element / 100 % kNodes);
  };
  const Needed needed = [&](int node, const Range& range) {
    for (std::int64_t i = range.begin; i < range.begin + range.count; ++i) {
      if (owner(i) == node) return true;
    }
    return false;
  };
  Lane lane(kNodes, kRange, needed);
  lane.circulate();
  for (std::int64_t i = 0; i < kRange.count; ++i) {
    const auto& results = lane.results(owner(kRange.begin + i));
    EXPECT_EQ(results[static_cast<std::size_t>(i)], 2);
  }
  const auto to_all = static_cast<std::size_t>(kRange.count) * (kNodes - 1) * 6;
  EXPECT_LT(lane.sent(), to_all);
}

}  // namespace
}  // namespace hvd::collective
