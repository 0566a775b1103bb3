// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/flow.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hvd::collective {
namespace {

constexpr std::size_t kSlot = 64;

// Moves data around the ring without wires: in each step all ranks send, then
// all receive.
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
    // The plane copies a rank's own part.
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
