// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/norms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/invalid_argument.h"

namespace hvd::nn {
namespace {

TEST(LayerNorm, BeginsWithOnesAndZeros) {
  LayerNorm norm({2, 3});
  EXPECT_THAT(norm.weight().to_vector<float>(), testing::Each(1));
  EXPECT_THAT(norm.bias().to_vector<float>(), testing::Each(0));
  EXPECT_EQ(norm.weight().shape(), Shape({2, 3}));
}

TEST(LayerNorm, MayLackBiasOrBoth) {
  LayerNorm scaled({3}, {.bias = false});
  EXPECT_EQ(scaled.named_parameters().size(), 1u);
  LayerNorm plain({3}, {.elementwise_affine = false});
  EXPECT_TRUE(plain.named_parameters().empty());
  const Tensor x = randn({5, 3});
  EXPECT_EQ(scaled(x).to_vector<float>(), plain(x).to_vector<float>());
}

TEST(LayerNorm, RefusesShapesThatMeanNothing) {
  EXPECT_THROW(LayerNorm(autograd::Dims{}), InvalidArgument);
  EXPECT_THROW(LayerNorm({3, 0}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
