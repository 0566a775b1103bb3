// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/cut_neighbors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;

using Bytes = std::vector<double>;
using Cuts = std::vector<std::size_t>;

TEST(CutNeighbors, HalvesBatchesByBytes) {
  EXPECT_THAT(halve_batches(Bytes{1, 1, 1, 1}, Cuts{4}), ElementsAre(2, 4));
  EXPECT_THAT(halve_batches(Bytes{1, 1, 1, 9}, Cuts{4}), ElementsAre(3, 4));
  EXPECT_THAT(halve_batches(Bytes{9, 1, 1, 1}, Cuts{4}), ElementsAre(1, 4));
  EXPECT_THAT(halve_batches(Bytes{1, 1, 2, 2, 4}, Cuts{2, 5}),
              ElementsAre(1, 2, 4, 5));
}

TEST(CutNeighbors, KeepsBatchesOfOneOperation) {
  EXPECT_THAT(halve_batches(Bytes{5, 5, 5}, Cuts{1, 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(halve_batches(Bytes{5, 5}, Cuts{1, 2}), ElementsAre(1, 2));
}

TEST(CutNeighbors, HalvesBatchesWithoutBytes) {
  EXPECT_THAT(halve_batches(Bytes{0, 0, 0}, Cuts{3}), ElementsAre(1, 3));
}

TEST(CutNeighbors, JoinsBatchesInPairs) {
  EXPECT_THAT(join_batches(Cuts{1, 3, 4, 9}), ElementsAre(3, 9));
  EXPECT_THAT(join_batches(Cuts{1, 3, 9}), ElementsAre(3, 9));
  EXPECT_THAT(join_batches(Cuts{9}), ElementsAre(9));
}

}  // namespace
}  // namespace hvd::coordinator
