// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/functions.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"

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

}  // namespace
}  // namespace hvd::nn
