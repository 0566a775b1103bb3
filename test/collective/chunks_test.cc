// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/chunks.h"

#include <gtest/gtest.h>

#include <vector>

namespace hvd::collective {
namespace {

TEST(Chunks, CutPiecesSoThatTheyFit) {
  const std::vector<Piece> pieces = {
      {.count = 3}, {.count = 0}, {.count = 20}, {.count = 1}};
  Chunks chunks(pieces, 4, {.memory_bytes = 64});
  const auto first = chunks.next();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].place, 0u);
  EXPECT_EQ(first[1].piece, 2u);
  EXPECT_EQ(first[1].place, 16u);
  EXPECT_EQ(first[1].count, 12);
  EXPECT_EQ(chunks.end_of(first), 64u);
  const auto second = chunks.next();
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].begin, 12);
  EXPECT_EQ(second[0].count, 8);
  EXPECT_EQ(second[1].piece, 3u);
  EXPECT_EQ(second[1].place, 32u);
  EXPECT_EQ(chunks.end_of(second), 36u);
  EXPECT_TRUE(chunks.next().empty());
  EXPECT_EQ(chunks.end_of({}), 0u);
}

TEST(Chunks, AreNoMoreThanTheirElementsNeed) {
  const std::vector<Piece> pieces(10, {.count = 1});
  Chunks chunks(pieces, 1, {.elements = 4});
  int count = 0;
  while (!chunks.next().empty()) ++count;
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace hvd::collective
