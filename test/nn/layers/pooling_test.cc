// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/functions.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"

namespace hvd::nn {
namespace {

TEST(Pooling, IsTheOperationOfItsName) {
  const Tensor x = randn({2, 3, 7, 8});
  const MaxPool2dOptions largest{.kernel = 3, .stride = 2, .padding = 1};
  EXPECT_EQ(MaxPool2d(largest)(x).to_vector<float>(),
            max_pool2d(x, largest).to_vector<float>());
  const AvgPool2dOptions average{.kernel = {2, 3}, .ceil_mode = true};
  EXPECT_EQ(AvgPool2d(average)(x).to_vector<float>(),
            avg_pool2d(x, average).to_vector<float>());
  EXPECT_EQ(AdaptiveAvgPool2d({2, 1})(x).shape(), Shape({2, 3, 2, 1}));
}

}  // namespace
}  // namespace hvd::nn
