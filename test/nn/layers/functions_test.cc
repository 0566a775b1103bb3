// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/functions.h"

#include <gtest/gtest.h>
#include <algorithm>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"

namespace hvd::nn {
namespace {

std::vector<float> elements(const Tensor& x) { return x.to_vector<float>(); }

TEST(Activation, IsTheOperationOfItsName) {
  const Tensor x = randn({3, 4});
  EXPECT_EQ(elements(ReLU()(x)), elements(relu(x)));
  EXPECT_EQ(elements(GELU()(x)), elements(gelu(x)));
  EXPECT_EQ(elements(GELU(GeluForm::kTanh)(x)),
            elements(gelu(x, GeluForm::kTanh)));
  EXPECT_EQ(elements(Tanh()(x)), elements(tanh(x)));
  EXPECT_EQ(elements(Sigmoid()(x)), elements(sigmoid(x)));
  EXPECT_EQ(elements(Softmax()(x)), elements(softmax(x, -1)));
  EXPECT_EQ(elements(Softmax(0)(x)), elements(softmax(x, 0)));
  EXPECT_EQ(elements(LogSoftmax(0)(x)), elements(log_softmax(x, 0)));
}

// Item 87 of the autograd contract.
TEST(Dropout, DropsWhileTrainingOnly) {
  manual_seed(4);
  Dropout module(0.25);
  const Tensor x = ones({10000});
  const auto y = module(x).to_vector<float>();
  const auto dropped = std::count(y.begin(), y.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped), 2500, 200);
  EXPECT_EQ(*std::max_element(y.begin(), y.end()), 1.0f / 0.75f);
  module.eval();
  EXPECT_EQ(module(x).to_vector<float>(), x.to_vector<float>());
  NoGrad no_grad;
  EXPECT_EQ(module(x).to_vector<float>(), x.to_vector<float>());
  module.train();
  EXPECT_NE(module(x).to_vector<float>(), x.to_vector<float>());
}

TEST(Dropout, RefusesAnInvalidProbability) {
  EXPECT_THROW(Dropout(1.5), InvalidArgument);
  EXPECT_THROW(Dropout(-0.1), InvalidArgument);
}

TEST(Flatten, JoinsDimensions) {
  const Tensor x = randn({2, 3, 4, 5});
  EXPECT_EQ(Flatten()(x).shape(), Shape({2, 60}));
  EXPECT_EQ(Flatten(0)(x).shape(), Shape({120}));
  EXPECT_EQ(Flatten(1, 2)(x).shape(), Shape({2, 12, 5}));
  EXPECT_EQ(Flatten(-1)(x).shape(), x.shape());
  EXPECT_EQ(Flatten()(x).to_vector<float>(), x.to_vector<float>());
}

TEST(Flatten, TakesImagesInChannelsLastLayout) {
  const Tensor x = channels_last(randn({2, 3, 4, 5}));
  EXPECT_EQ(Flatten()(x).to_vector<float>(), x.to_vector<float>());
}

TEST(Flatten, RefusesMissingDimensions) {
  EXPECT_THROW(Flatten()(ones({3})), InvalidArgument);
  EXPECT_THROW(Flatten(2, 1)(ones({3, 4, 5})), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
