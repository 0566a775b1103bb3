// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "test/support/expect_error.h"

namespace hvd::nn {
namespace {

TEST(Linear, BeginsUniformWithinTheBoundOfItsInputs) {
  manual_seed(1);
  Linear layer(100, 50);
  const auto weights = layer.weight().to_vector<float>();
  const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
  EXPECT_GE(*low, -0.1f);
  EXPECT_LE(*high, 0.1f);
  EXPECT_LT(*low, -0.099f);
  EXPECT_GT(*high, 0.099f);
  EXPECT_EQ(layer.weight().shape(), Shape({50, 100}));
  EXPECT_EQ(layer.bias().shape(), Shape({50}));
  EXPECT_TRUE(layer.weight().is_leaf());
  EXPECT_TRUE(layer.weight().requires_grad());
}

TEST(Linear, BeginsTheSameFromTheSameSeed) {
  manual_seed(9);
  Linear a(4, 3);
  manual_seed(9);
  Linear b(4, 3);
  EXPECT_EQ(a.weight().to_vector<float>(), b.weight().to_vector<float>());
  EXPECT_EQ(a.bias().to_vector<float>(), b.bias().to_vector<float>());
}

TEST(Linear, ComputesWithAndWithoutBias) {
  Linear layer(3, 2, {.dtype = DType::kF64});
  const Tensor x = randn({4, 3}, {.dtype = DType::kF64});
  const Tensor wanted = x.matmul(layer.weight().t()) + layer.bias();
  const auto found = layer(x).to_vector<double>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wanted.to_vector<double>()[i], 1e-12);
  }
  Linear plain(3, 2, {.bias = false});
  EXPECT_FALSE(plain.bias().defined());
  EXPECT_EQ(plain(ones({4, 3})).shape(), Shape({4, 2}));
  EXPECT_EQ(plain.named_parameters().size(), 1u);
}

TEST(Linear, RefusesSizesThatAreNotPositive) {
  EXPECT_THROW(Linear(0, 3), InvalidArgument);
  EXPECT_THROW(Linear(3, -1), InvalidArgument);
}

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
      EXPECT_ERROR(
          InvalidArgument,
          "embedding: index " + std::to_string(index) + " is not within the 5",
          table(from_vector<std::int64_t>({0, index}, {2})));
    }
  }
}

TEST(Embedding, RefusesInvalidSizesAndPadding) {
  EXPECT_THROW(Embedding(0, 3), InvalidArgument);
  EXPECT_THROW(Embedding(3, 3, {.padding_index = 3}), InvalidArgument);
  EXPECT_THROW(Embedding(3, 3, {.padding_index = -4}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
