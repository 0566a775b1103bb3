// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/containers.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/nn.h"

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

TEST(Sequential, OfNothingReturnsItsInput) {
  Sequential model(std::vector<std::shared_ptr<Module>>{});
  const Tensor x = ones({2});
  EXPECT_TRUE(model(x).is_same(x));
}

}  // namespace
}  // namespace hvd::nn
