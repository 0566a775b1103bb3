// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
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

TEST(Embedding, YieldsSparseGradientsIfAsked) {
  Embedding table(5, 3, {.padding_index = 3, .sparse = true});
  EXPECT_TRUE(autograd::expects_sparse_grad(table.weight()));
  table(from_vector<std::int64_t>({3, 1, 1, 4}, {2, 2})).sum().backward();
  const SparseRows gradient = autograd::sparse_grad(table.weight());
  EXPECT_THAT(gradient.rows.to_vector<std::int64_t>(),
              testing::ElementsAre(1, 1, 4));
  EXPECT_THAT(gradient.values.to_vector<float>(), testing::Each(1));
}

TEST(Embedding, ConvertsItsSparseGradient) {
  Embedding table(5, 3, {.sparse = true});
  table(from_vector<std::int64_t>({2}, {1})).sum().backward();
  table.to(DType::kF64);
  EXPECT_EQ(autograd::sparse_grad(table.weight()).values.dtype(), DType::kF64);
}

TEST(Embedding, NamesAnIndexThatIsNoRow) {
  for (const bool sparse : {false, true}) {
    Embedding table(5, 3, {.sparse = sparse});
    for (const std::int64_t index : {5, -1}) {
      try {
        table(from_vector<std::int64_t>({0, index}, {2}));
        ADD_FAILURE() << index << " was taken";
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("embedding: index " +
                                                     std::to_string(index) +
                                                     " is not within the 5"));
      }
    }
  }
}

TEST(Embedding, RefusesSizesAndPaddingThatMeanNothing) {
  EXPECT_THROW(Embedding(0, 3), InvalidArgument);
  EXPECT_THROW(Embedding(3, 3, {.padding_index = 3}), InvalidArgument);
  EXPECT_THROW(Embedding(3, 3, {.padding_index = -4}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
