// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/optimizer.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/sgd.h"

namespace hvd::optim {
namespace {

TEST(Optimizer, NumbersParametersWithoutNames) {
  Tensor a = ones({2}, {.requires_grad = true});
  Tensor b = ones({3}, {.requires_grad = true});
  SGD optimizer(std::vector<Tensor>{a, b});
  ASSERT_EQ(optimizer.parameters().size(), 2u);
  EXPECT_EQ(optimizer.parameters()[1].name, "1");
  EXPECT_TRUE(optimizer.parameters()[1].tensor.is_same(b));
}

TEST(Optimizer, RefusesTwoParametersOfOneName) {
  Tensor a = ones({2}, {.requires_grad = true});
  Tensor b = ones({3}, {.requires_grad = true});
  EXPECT_THROW(SGD({{"w", a}, {"w", b}}), InvalidArgument);
}

TEST(Optimizer, ForgetsGradientsOrZeroesThem) {
  Tensor a = ones({2}, {.requires_grad = true});
  SGD optimizer(std::vector<Tensor>{a});
  a.sum().backward();
  const Tensor grad = a.grad();
  optimizer.zero_grad(false);
  EXPECT_TRUE(a.grad().is_same(grad));
  EXPECT_EQ(grad.sum().item<float>(), 0);
  optimizer.zero_grad();
  EXPECT_FALSE(a.grad().defined());
}

}  // namespace
}  // namespace hvd::optim
