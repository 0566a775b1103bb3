// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/images/convolutions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "test/support/expect_error.h"

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

TEST(Conv2d, RefusesInvalidChannelsAndKernels) {
  EXPECT_THROW(Conv2d(0, 1, 3), InvalidArgument);
  EXPECT_THROW(Conv2d(1, 1, {3, 0}), InvalidArgument);
  EXPECT_THROW(Conv2d(3, 4, 3, Conv2dOptions{.groups = 2}), InvalidArgument);
  EXPECT_THROW(Conv2d(4, 3, 3, Conv2dOptions{.groups = 2}), InvalidArgument);
}

TEST(Conv3d, HasTheShapesOfPyTorch) {
  Conv3d layer(4, 6, {1, 2, 3}, {.stride = {1, 1, 2}, .groups = 2});
  EXPECT_EQ(layer.weight().shape(), Shape({6, 2, 1, 2, 3}));
  EXPECT_EQ(layer(ones({1, 4, 2, 3, 7})).shape(), Shape({1, 6, 2, 2, 3}));
}

TEST(ConvTranspose, HasTheShapesOfPyTorch) {
  ConvTranspose1d row(2, 3, 4, {.stride = 2, .output_padding = 1});
  EXPECT_EQ(row.weight().shape(), Shape({2, 3, 4}));
  EXPECT_EQ(row(ones({5, 2, 3})).shape(), Shape({5, 3, 9}));
  ConvTranspose3d deep(4, 6, {1, 2, 3}, {.groups = 2, .bias = false});
  EXPECT_EQ(deep.weight().shape(), Shape({4, 3, 1, 2, 3}));
  EXPECT_EQ(deep(ones({4, 1, 2, 3})).shape(), Shape({6, 1, 3, 5}));
  const double bound = 1.0 / std::sqrt(18.0);
  const double largest = max(abs(deep.weight())).item<float>();
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.8 * bound);
}

TEST(ConvTranspose, NamesTheModuleInErrors) {
  EXPECT_ERROR(InvalidArgument, "ConvTranspose3d: from 3 to 4",
               ConvTranspose3d(3, 4, 2, {.groups = 2}));
  EXPECT_ERROR(InvalidArgument, "steps of 1x0",
               ConvTranspose2d(3, 4, 2, {.stride = {1, 0}}));
}

}  // namespace
}  // namespace hvd::nn
