// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/containers.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/nn/layers/linear.h"

namespace hvd::nn {
namespace {

TEST(ModuleList, NumbersItsModules) {
  ModuleList<Linear> list;
  list.push_back(std::make_shared<Linear>(2, 3));
  list.push_back(std::make_shared<Linear>(3, 1));
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(list.named_parameters()[2].name, "1.weight");
  Tensor x = ones({5, 2});
  for (const auto& layer : list) x = (*layer)(x);
  EXPECT_EQ(x.shape(), Shape({5, 1}));
  EXPECT_EQ(list[1].weight().shape(), Shape({1, 3}));
  list.eval();
  EXPECT_FALSE(list[0].is_training());
}

TEST(ModuleList, CannotBeCalledAndHasNoMoreThanItHas) {
  ModuleList<> list({std::make_shared<Linear>(2, 3)});
  EXPECT_THROW(list(ones({5, 2})), InvalidArgument);
  EXPECT_THROW(list[1], InvalidArgument);
  EXPECT_THROW(list.push_back(nullptr), InvalidArgument);
  EXPECT_EQ(list.size(), 1u);
}

}  // namespace
}  // namespace hvd::nn
