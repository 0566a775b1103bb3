// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/dims.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/core/error.h"

namespace hvd::autograd {
namespace {

TEST(Dims, GrowShrinkAndConvert) {
  Dims dims{2, 3};
  dims.push_back(4);
  dims.insert(0, 1);
  EXPECT_EQ(dims, Dims({1, 2, 3, 4}));
  dims.erase(1);
  EXPECT_EQ(dims.to_shape(), Shape({1, 3, 4}));
  EXPECT_EQ(dims.to_string(), "[1,3,4]");
  EXPECT_EQ(dims.product(), 12);
  EXPECT_EQ(Dims().product(), 1);
  EXPECT_THROW(Dims::filled(9, 1), InvalidArgument);
}

TEST(Dims, KnowContiguousAndDenseMemory) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), Dims({12, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 4}), Dims({4, 4, 1}));
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_TRUE(is_contiguous({0, 3}, {7, 7}));
  EXPECT_TRUE(is_dense({2, 3}, {1, 2}));
  EXPECT_TRUE(is_dense({2, 3, 4}, {3, 1, 6}));
  EXPECT_TRUE(is_dense({2, 2, 2}, {4, 1, 2}));
  EXPECT_FALSE(is_dense({2, 2}, {4, 2}));
  EXPECT_FALSE(is_dense({2, 2}, {1, 1}));
  EXPECT_FALSE(is_dense({2, 2}, {0, 1}));
}

TEST(Dims, Broadcast) {
  EXPECT_EQ(broadcast({2, 1, 3}, {4, 1}, "add"), Dims({2, 4, 3}));
  EXPECT_EQ(broadcast({}, {2}, "add"), Dims({2}));
  EXPECT_EQ(broadcast({4, 0}, {4, 1}, "add"), Dims({4, 0}));
  EXPECT_EQ(broadcast({4, 1}, {4, 0}, "add"), Dims({4, 0}));
  EXPECT_THROW(broadcast({2, 3}, {2}, "add"), InvalidArgument);
  EXPECT_TRUE(broadcasts_to({1, 3}, {5, 2, 3}));
  EXPECT_FALSE(broadcasts_to({2, 3}, {3}));
  EXPECT_FALSE(broadcasts_to({2}, {1}));
}

TEST(Dims, CountFromEitherEnd) {
  EXPECT_EQ(checked_dim(-1, 3, "sum"), 2u);
  EXPECT_EQ(checked_dim(0, 3, "sum"), 0u);
  EXPECT_THROW(checked_dim(3, 3, "sum"), InvalidArgument);
  EXPECT_THROW(checked_dim(-4, 3, "sum"), InvalidArgument);
}

}  // namespace
}  // namespace hvd::autograd
