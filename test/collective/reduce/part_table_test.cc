// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/part_table.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace hvd::collective {
namespace {

// (piece, rank, skipped, begin, count)
using Row =
    std::tuple<std::size_t, int, std::int64_t, std::int64_t, std::int64_t>;

std::vector<Row> parts_in(const PartTable& table, const Range& range) {
  std::vector<Row> rows;
  table.for_each_part(range, [&](const PartTable::Part& part) {
    rows.emplace_back(part.piece, part.rank, part.skipped, part.range.begin,
                      part.range.count);
    return true;
  });
  return rows;
}

TEST(PartTable, CutsARangeIntoTheRanksParts) {
  // Pieces of 5, 0 and 4 elements, for two ranks.
  const PartTable table(std::vector<std::int64_t>{2, 3, 0, 0, 0, 4}, 2);
  EXPECT_EQ(
      parts_in(table, {0, 9}),
      (std::vector<Row>{{0, 0, 0, 0, 2}, {0, 1, 0, 2, 3}, {2, 1, 0, 5, 4}}));
  EXPECT_EQ(
      parts_in(table, {1, 5}),
      (std::vector<Row>{{0, 0, 1, 1, 1}, {0, 1, 0, 2, 3}, {2, 1, 0, 5, 1}}));
  EXPECT_EQ(parts_in(table, {7, 1}), (std::vector<Row>{{2, 1, 2, 7, 1}}));
  EXPECT_TRUE(parts_in(table, {3, 0}).empty());
  EXPECT_TRUE(parts_in(table, {9, 0}).empty());
}

TEST(PartTable, StopsAtACallbackThatReturnsFalse) {
  const PartTable table(std::vector<std::int64_t>{1, 1, 1}, 3);
  int seen = 0;
  table.for_each_part({0, 3}, [&](const PartTable::Part& part) {
    ++seen;
    return part.rank < 1;
  });
  EXPECT_EQ(seen, 2);
}

TEST(PartTable, CountsBeyondThirtyTwoBits) {
  const std::int64_t huge = std::int64_t{1} << 40;
  const PartTable table(std::vector<std::int64_t>{huge, 5, huge, 7}, 2);
  EXPECT_EQ(parts_in(table, {2 * huge, 12}),
            (std::vector<Row>{{1, 0, huge - 5, 2 * huge, 5},
                              {1, 1, 0, 2 * huge + 5, 7}}));
}

}  // namespace
}  // namespace hvd::collective
