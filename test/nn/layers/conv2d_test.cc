// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "horovodpp/autograd.h"
#include "horovodpp/core/invalid_argument.h"

namespace hvd::nn {
namespace {

TEST(Conv2d, BeginsUniformWithinTheBoundOfItsInputs) {
  manual_seed(1);
  Conv2d layer(4, 100, 5, Conv2dOptions{.groups = 2});
  EXPECT_EQ(layer.weight().shape(), Shape({100, 2, 5, 5}));
  EXPECT_EQ(layer.bias().shape(), Shape({100}));
  const double bound = 1.0 / std::sqrt(50.0);
  for (const Tensor& parameter : layer.parameters()) {
    EXPECT_TRUE(parameter.requires_grad());
    const double largest = max(abs(parameter)).item<float>();
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.9 * bound);
  }
}

TEST(Conv2d, HasTheNamesOfPyTorch) {
  Conv2d layer(1, 2, 3);
  ASSERT_EQ(layer.named_parameters().size(), 2u);
  EXPECT_EQ(layer.named_parameters()[0].name, "weight");
  EXPECT_EQ(layer.named_parameters()[1].name, "bias");
  Conv2d plain(1, 2, 3, Conv2dOptions{.bias = false});
  EXPECT_EQ(plain.named_parameters().size(), 1u);
  EXPECT_EQ(plain(ones({1, 1, 4, 5})).shape(), Shape({1, 2, 2, 3}));
}

TEST(Conv2d, RefusesChannelsAndKernelsThatMeanNothing) {
  EXPECT_THROW(Conv2d(0, 1, 3), InvalidArgument);
  EXPECT_THROW(Conv2d(1, 1, {3, 0}), InvalidArgument);
  EXPECT_THROW(Conv2d(3, 4, 3, Conv2dOptions{.groups = 2}), InvalidArgument);
  EXPECT_THROW(Conv2d(4, 3, 3, Conv2dOptions{.groups = 2}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
