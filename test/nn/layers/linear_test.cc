// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "horovodpp/autograd.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/nn/init.h"

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

}  // namespace
}  // namespace hvd::nn
