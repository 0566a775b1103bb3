// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/containers.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/nn/layers/linear.h"

namespace hvd::nn {
namespace {

struct AddOne : Module {
  Tensor forward(const Tensor& x) override { return x + 1.0; }
};
struct Double : Module {
  Tensor forward(const Tensor& x) override { return x * 2.0; }
};

TEST(Sequential, RunsItsModulesInOrder) {
  Sequential model(std::make_shared<AddOne>(), std::make_shared<Double>(),
                   std::make_shared<ReLU>());
  EXPECT_EQ(model(full({}, 3)).item<float>(), 8);
  EXPECT_EQ(model(full({}, -3)).item<float>(), 0);
}

TEST(Sequential, NestsAndIsBuiltFromAList) {
  std::vector<std::shared_ptr<Module>> list{
      std::make_shared<Sequential>(std::make_shared<Linear>(2, 2)),
      std::make_shared<Linear>(2, 1)};
  Sequential model(list);
  EXPECT_EQ(model.modules().size(), 2u);
  EXPECT_EQ(model.named_parameters()[0].name, "0.0.weight");
  EXPECT_EQ(model(ones({5, 2})).shape(), Shape({5, 1}));
}

TEST(Sequential, AnEmptyOneReturnsItsInput) {
  Sequential model(std::vector<std::shared_ptr<Module>>{});
  const Tensor x = ones({2});
  EXPECT_TRUE(model(x).is_same(x));
}

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

TEST(ModuleList, RefusesCallsAndInvalidIndices) {
  ModuleList<> list({std::make_shared<Linear>(2, 3)});
  EXPECT_THROW(list(ones({5, 2})), InvalidArgument);
  EXPECT_THROW(list[1], InvalidArgument);
  EXPECT_THROW(list.push_back(nullptr), InvalidArgument);
  EXPECT_EQ(list.size(), 1u);
}

}  // namespace
}  // namespace hvd::nn
