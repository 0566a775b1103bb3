// SPDX-License-Identifier: Apache-2.0
// Modules apply the function of their name with their parameters. The functions
// have PyTorch's values (test/ops/unary).
#include "horovodpp/nn/layers/activations.h"

#include <gtest/gtest.h>

#include "horovodpp/nn.h"
#include "horovodpp/tensor/base/generator.h"
#include "test/autograd/near.h"

namespace hvd::nn {
namespace {

TEST(Activations, PassTheirParameters) {
  manual_seed(1);
  const Tensor x = randn({4, 6}, {.dtype = DType::kF64}) * 3.0;
  expect_near(CELU(0.7).forward(x), celu(x, 0.7), 0);
  expect_near(SELU().forward(x), selu(x), 0);
  expect_near(Hardshrink(0.2).forward(x), hardshrink(x, 0.2), 0);
  expect_near(Softshrink(0.2).forward(x), softshrink(x, 0.2), 0);
  expect_near(Threshold(0.5, -2).forward(x), threshold(x, 0.5, -2), 0);
  expect_near(Softplus(2, 3).forward(x), softplus(x, 2, 3), 0);
  expect_near(Hardtanh(-2, 0.5).forward(x), hardtanh(x, -2, 0.5), 0);
  expect_near(Softmin(0).forward(x), softmax(-x, 0), 0);
}

TEST(RReLU, DrawsSlopesWhileTraining) {
  RReLU module(0.25, 0.5);
  const Tensor x = full({100}, -1.0);
  manual_seed(1);
  const Tensor trained = module.forward(x);
  EXPECT_LT(min(trained).item<float>(), max(trained).item<float>());
  module.eval();
  expect_near(module.forward(x), x * 0.375, 1e-6);
}

}  // namespace
}  // namespace hvd::nn
