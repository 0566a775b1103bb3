// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/node_layout.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace hvd::runtime {
namespace {

TEST(NodeLayout, PartsFollowOneAnotherFromTheBeginningsOfPages) {
  for (const int ranks : {1, 2, 4, 64}) {
    const NodeLayout layout(ranks, 1024);
    std::vector<std::byte> memory(layout.bytes());
    std::size_t end = 0;
    for (const NodeLayout::Memory part :
         {layout.board(memory), layout.mail(memory), layout.messages(memory),
          layout.early_leave(memory), layout.lives(memory),
          layout.arenas(memory), layout.plane(memory)}) {
      const auto begin = static_cast<std::size_t>(part.data() - memory.data());
      EXPECT_EQ(begin % 4096, 0u);
      EXPECT_GE(begin, end);
      EXPECT_TRUE(ranks == 1 || !part.empty());
      end = begin + part.size();
    }
    EXPECT_EQ(end, memory.size());
  }
}

TEST(NodeLayout, MoreRanksAndMoreNamesTakeMore) {
  EXPECT_LT(NodeLayout(2, 1024).bytes(), NodeLayout(3, 1024).bytes());
  EXPECT_LT(NodeLayout(2, 1024).bytes(), NodeLayout(2, 1 << 17).bytes());
}

}  // namespace
}  // namespace hvd::runtime
