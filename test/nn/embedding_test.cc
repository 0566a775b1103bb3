// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/invalid_argument.h"

namespace hvd::nn {
namespace {

TEST(Embedding, BeginsNormal) {
  manual_seed(2);
  Embedding table(100, 50);
  EXPECT_TRUE(table.weight().is_leaf());
  EXPECT_NEAR(table.weight().mean().item<float>(), 0, 0.05);
  const Tensor squares = table.weight() * table.weight();
  EXPECT_NEAR(squares.mean().item<float>(), 1, 0.1);
}

TEST(Embedding, BeginsItsPaddingAsZeroAndLeavesItSo) {
  Embedding table(5, 3, {.padding_index = -2});
  EXPECT_THAT(table.weight().select(0, 3).to_vector<float>(), testing::Each(0));
  table(from_vector<std::int64_t>({3, 1}, {2})).sum().backward();
  const Tensor grad = table.weight().grad();
  EXPECT_THAT(grad.select(0, 3).to_vector<float>(), testing::Each(0));
  EXPECT_THAT(grad.select(0, 1).to_vector<float>(), testing::Each(1));
}

TEST(Embedding, RefusesSizesAndPaddingThatMeanNothing) {
  EXPECT_THROW(Embedding(0, 3), InvalidArgument);
  EXPECT_THROW(Embedding(3, 3, {.padding_index = 3}), InvalidArgument);
  EXPECT_THROW(Embedding(3, 3, {.padding_index = -4}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
