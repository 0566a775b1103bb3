// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/adasum_row.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace hvd::collective {
namespace {

using Stretch = std::tuple<std::size_t, std::int64_t, std::int64_t>;

std::vector<Stretch> runs_of(const AdasumRow& row, int first, int end) {
  std::vector<Stretch> runs;
  row.for_each_run(first, end, [&](std::size_t tensor, const Range& range) {
    runs.emplace_back(tensor, range.begin, range.count);
  });
  return runs;
}

TEST(AdasumRow, HasTheFirstPartsOfAllTensorsThenAllSecondOnes) {
  const float input[12] = {};
  float output[12] = {};
  const std::vector<Piece> tensors = {{input, output, 5},
                                      {nullptr, nullptr, 0},
                                      {input + 5, output + 5, 1},
                                      {input + 6, output + 6, 6}};
  const AdasumRow row(tensors, 2, sizeof(float));
  EXPECT_EQ(row.begin(0), 0);
  EXPECT_EQ(row.begin(1), 7);
  EXPECT_EQ(row.begin(2), 12);
  EXPECT_EQ(runs_of(row, 0, 1),
            (std::vector<Stretch>{{0, 0, 3}, {2, 3, 1}, {3, 4, 3}}));
  EXPECT_EQ(runs_of(row, 1, 2), (std::vector<Stretch>{{0, 7, 2}, {3, 9, 3}}));
  EXPECT_EQ(runs_of(row, 0, 2).size(), 5u);
  const Piece& last = row.pieces().back();
  EXPECT_EQ(last.input, input + 9);
  EXPECT_EQ(last.output, output + 9);
  EXPECT_EQ(last.count, 3);
}

TEST(AdasumRow, MayHavePartsWithoutElements) {
  const float one = 1;
  const Piece tensor = {&one, nullptr, 1};
  const AdasumRow row({&tensor, 1}, 4, sizeof(float));
  EXPECT_EQ(row.begin(1), 1);
  EXPECT_EQ(row.begin(4), 1);
  EXPECT_TRUE(runs_of(row, 1, 4).empty());
}

}  // namespace
}  // namespace hvd::collective
