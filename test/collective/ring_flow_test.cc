#include "horovodpp/collective/ring_flow.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

namespace hvd::collective {
namespace {

constexpr std::size_t kSlot = 64;

// Lets data go around without a wire: step by step, all ranks send, then all
// receive.
void circulate(const std::vector<std::unique_ptr<RingFlow>>& flows, int depth) {
  const int ranks = static_cast<int>(flows.size());
  using Slots = std::vector<std::vector<std::byte>>;
  for (std::int64_t round = 0; round < flows[0]->rounds(); ++round) {
    for (int chunk = 0; chunk < depth; ++chunk) {
      Slots slots(flows.size(), std::vector<std::byte>(kSlot));
      for (int r = 0; r < ranks; ++r) {
        const RingChunk own = {round, 0, r, chunk};
        const auto at = static_cast<std::size_t>(r);
        if (flows[at]->bytes(own) > 0) flows[at]->load(own, slots[at].data());
      }
      for (int step = 0; step < flows[0]->steps(); ++step) {
        std::rotate(slots.begin(), slots.end() - 1, slots.end());
        for (int r = 0; r < ranks; ++r) {
          const int segment = (r + 2 * ranks - step - 1) % ranks;
          const RingChunk now = {round, step, segment, chunk};
          RingFlow& flow = *flows[static_cast<std::size_t>(r)];
          const RingFlow& sender =
              *flows[static_cast<std::size_t>((r + ranks - 1) % ranks)];
          ASSERT_EQ(flow.bytes(now), sender.bytes(now));
          ASSERT_LE(flow.bytes(now), kSlot);
          if (flow.bytes(now) == 0) continue;
          flow.receive(now, slots[static_cast<std::size_t>(r)].data());
        }
      }
    }
  }
}

TEST(AllreduceFlow, ReducesOnRingsOfAnySizeAndDepth) {
  for (const int ranks : {2, 3, 5, 8}) {
    for (const int depth : {1, 3}) {
      for (const std::int64_t count : {0, 1, 2, 17, 500, 1001}) {
        std::vector<std::vector<std::int32_t>> data;
        std::vector<Piece> pieces(static_cast<std::size_t>(ranks));
        std::vector<std::unique_ptr<RingFlow>> flows;
        const ReduceKernel kernel(
            {.dtype = DType::kI32, .op = ReduceOp::kAverage}, ranks);
        for (int r = 0; r < ranks; ++r) {
          data.emplace_back(static_cast<std::size_t>(count));
          std::iota(data.back().begin(), data.back().end(), 100 * r);
          Piece& piece = pieces[static_cast<std::size_t>(r)];
          piece = {data.back().data(), data.back().data(), count};
          flows.push_back(std::make_unique<AllreduceFlow>(
              RingShape{r, ranks, depth, kSlot}, std::span(&piece, 1), kernel));
        }
        circulate(flows, depth);
        for (const auto& result : data) {
          for (std::size_t i = 0; i < result.size(); ++i) {
            ASSERT_EQ(result[i], static_cast<int>(i) + 50 * (ranks - 1));
          }
        }
      }
    }
  }
}

TEST(ReducescatterFlow, BringsEachRankItsPartOnRingsOfAnySize) {
  for (const int ranks : {2, 3, 5}) {
    for (const std::int64_t count : {1, 17, 500, 1001}) {
      for (const bool even : {true, false}) {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 0);
        for (std::int64_t i = 0; i < count; ++i) {
          ++counts[static_cast<std::size_t>(even ? i % ranks : i * i % 2)];
        }
        const PartTable parts(counts, ranks);
        const ReduceKernel kernel({.dtype = DType::kI32}, ranks);
        std::vector<std::vector<std::int32_t>> inputs;
        std::vector<std::vector<std::int32_t>> outputs;
        std::vector<Piece> pieces(static_cast<std::size_t>(ranks));
        std::vector<std::unique_ptr<RingFlow>> flows;
        for (int r = 0; r < ranks; ++r) {
          const auto at = static_cast<std::size_t>(r);
          inputs.emplace_back(static_cast<std::size_t>(count));
          std::iota(inputs[at].begin(), inputs[at].end(), 100 * r);
          outputs.emplace_back(static_cast<std::size_t>(counts[at]));
          pieces[at] = {inputs[at].data(), outputs[at].data(), count};
          flows.push_back(std::make_unique<ReducescatterFlow>(
              RingShape{r, ranks, 2, kSlot}, std::span(&pieces[at], 1), parts,
              kernel));
        }
        circulate(flows, 2);
        int element = 0;
        for (const auto& output : outputs) {
          for (const std::int32_t result : output) {
            ASSERT_EQ(result, ranks * element + 50 * ranks * (ranks - 1));
            ++element;
          }
        }
      }
    }
  }
}

TEST(ReducescatterFlow, SendsResultsNoFurtherThanTheyBelong) {
  const ReduceKernel kernel({.dtype = DType::kF32}, 4);
  const Piece piece = {nullptr, nullptr, 32};
  const auto bytes = [&](const std::vector<std::int64_t>& counts, int step,
                         int segment) {
    const PartTable parts(counts, 4);
    const ReducescatterFlow flow({0, 4, 1, kSlot}, {&piece, 1}, parts, kernel);
    return flow.bytes({.step = step, .segment = segment});
  };
  const std::vector<std::int64_t> even = {8, 8, 8, 8};
  const std::vector<std::int64_t> all_to_two = {0, 0, 32, 0};
  constexpr std::size_t kSegment = 8 * sizeof(float);
  for (int segment = 0; segment < 4; ++segment) {
    // Rank `segment - 1` has the results; rank `segment` is the next.
    EXPECT_EQ(bytes(even, 2, segment), kSegment);
    EXPECT_EQ(bytes(even, 3, segment), kSegment);
    EXPECT_EQ(bytes(even, 4, segment), 0u);
  }
  EXPECT_EQ(bytes(all_to_two, 3, 3), 0u);
  EXPECT_EQ(bytes(all_to_two, 5, 0), kSegment);
  EXPECT_EQ(bytes(all_to_two, 4, 1), kSegment);
  EXPECT_EQ(bytes(all_to_two, 5, 1), 0u);
}

TEST(AllreduceFlow, SendsAccumulatorsThenElements) {
  const ReduceKernel kernel({.dtype = DType::kF16}, 2);
  const Piece piece = {nullptr, nullptr, 32};
  const AllreduceFlow flow({0, 2, 1, kSlot}, {&piece, 1}, kernel);
  EXPECT_EQ(flow.steps(), 2);
  EXPECT_EQ(flow.rounds(), 1);
  EXPECT_EQ(flow.bytes({0, 0, 1, 0}), 16 * sizeof(float));
  EXPECT_EQ(flow.bytes({0, 1, 1, 0}), 16 * sizeof(f16));
}

TEST(AllreduceFlow, CountsBeyondThirtyTwoBits) {
  const std::int64_t huge = (std::int64_t{1} << 40) + 5;
  const ReduceKernel kernel({.dtype = DType::kF32}, 2);
  const Piece piece = {nullptr, nullptr, huge};
  const AllreduceFlow flow({0, 2, 2, kSlot}, {&piece, 1}, kernel);
  const std::int64_t per_round = 2 * 16;
  EXPECT_EQ(flow.rounds(), huge / 2 / per_round + 1);
  EXPECT_EQ(flow.bytes({flow.rounds() - 2, 0, 1, 1}), 16 * sizeof(float));
  EXPECT_EQ(flow.bytes({flow.rounds() - 1, 0, 0, 0}), 3 * sizeof(float));
  EXPECT_EQ(flow.bytes({flow.rounds() - 1, 0, 1, 0}), 2 * sizeof(float));
  EXPECT_EQ(flow.bytes({flow.rounds() - 1, 0, 1, 1}), 0u);
}

TEST(AllgatherFlow, GathersUnevenPartsOnRingsOfAnySize) {
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{0, 0},
                                                {5, 0, 300},
                                                {64, 64, 64, 64, 64},
                                                {1, 1000, 0, 0, 7, 128}}) {
    const int ranks = static_cast<int>(sizes.size());
    std::vector<std::byte> expected;
    std::vector<std::vector<std::byte>> parts;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      parts.emplace_back(sizes[r], static_cast<std::byte>(r + 1));
      expected.insert(expected.end(), parts[r].begin(), parts[r].end());
    }
    // A rank's own part is the plane's to copy.
    std::vector<std::vector<std::byte>> outputs(sizes.size(), expected);
    std::vector<std::vector<std::byte*>> places(sizes.size());
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      std::byte* next = outputs[r].data();
      for (const std::size_t size : sizes) {
        places[r].push_back(next);
        next += size;
      }
    }
    std::vector<std::unique_ptr<RingFlow>> flows;
    std::size_t place = 0;
    for (int r = 0; r < ranks; ++r) {
      const auto at = static_cast<std::size_t>(r);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (i < place || i >= place + sizes[at]) outputs[at][i] = {};
      }
      place += sizes[at];
      flows.push_back(std::make_unique<AllgatherFlow>(
          RingShape{r, ranks, 2, kSlot}, parts[at], sizes, places[at]));
    }
    circulate(flows, 2);
    for (const auto& output : outputs) EXPECT_EQ(output, expected);
  }
}

}  // namespace
}  // namespace hvd::collective
