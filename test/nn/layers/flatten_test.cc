// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/functions.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/invalid_argument.h"

namespace hvd::nn {
namespace {

TEST(Flatten, JoinsDimensions) {
  const Tensor x = randn({2, 3, 4, 5});
  EXPECT_EQ(Flatten()(x).shape(), Shape({2, 60}));
  EXPECT_EQ(Flatten(0)(x).shape(), Shape({120}));
  EXPECT_EQ(Flatten(1, 2)(x).shape(), Shape({2, 12, 5}));
  EXPECT_EQ(Flatten(-1)(x).shape(), x.shape());
  EXPECT_EQ(Flatten()(x).to_vector<float>(), x.to_vector<float>());
}

TEST(Flatten, TakesImagesWhoseChannelsLieLast) {
  const Tensor x = channels_last(randn({2, 3, 4, 5}));
  EXPECT_EQ(Flatten()(x).to_vector<float>(), x.to_vector<float>());
}

TEST(Flatten, RefusesDimensionsThatAreNotThere) {
  EXPECT_THROW(Flatten()(ones({3})), InvalidArgument);
  EXPECT_THROW(Flatten(2, 1)(ones({3, 4, 5})), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
