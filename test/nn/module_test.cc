// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"

namespace hvd::nn {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : tensors) result.push_back(name);
  return result;
}

struct Net : Module {
  Net() {
    scale = register_parameter("scale", ones({1}, {.requires_grad = true}));
    count = register_buffer("count", zeros({}));
    body = register_module(
        "body", std::make_shared<Sequential>(std::make_shared<Linear>(2, 3),
                                             std::make_shared<ReLU>(),
                                             std::make_shared<Linear>(3, 1)));
  }
  Tensor forward(const Tensor& x) override { return body->forward(x) * scale; }
  void register_again(const std::string& name) {
    register_parameter(name, scale);
  }
  Tensor scale, count;
  std::shared_ptr<Sequential> body;
};

TEST(Module, NamesItsPartsWithDots) {
  Net net;
  EXPECT_THAT(names(net.named_parameters()),
              ElementsAre("scale", "body.0.weight", "body.0.bias",
                          "body.2.weight", "body.2.bias"));
  EXPECT_THAT(names(net.named_buffers()), ElementsAre("count"));
  EXPECT_EQ(net.parameters().size(), 5u);
}

TEST(Module, ListsASharedParameterOnce) {
  auto shared = std::make_shared<Linear>(2, 2);
  Sequential tied(shared, shared);
  EXPECT_THAT(names(tied.named_parameters()),
              ElementsAre("0.weight", "0.bias"));
}

TEST(Module, RefusesTakenOrDottedNamesAndUndefinedParts) {
  Net net;
  EXPECT_THROW(net.register_again("scale"), InvalidArgument);
  EXPECT_THROW(net.register_again("body"), InvalidArgument);
  EXPECT_THROW(net.register_again("a.b"), InvalidArgument);
  EXPECT_THROW(net.register_again(""), InvalidArgument);
  net.scale = Tensor();
  EXPECT_THROW(net.register_again("undefined"), InvalidArgument);
  EXPECT_THROW(Sequential(std::vector<std::shared_ptr<Module>>{nullptr}),
               InvalidArgument);
}

TEST(Module, TrainsAndEvaluatesAsAWhole) {
  Net net;
  EXPECT_TRUE(net.body->is_training());
  net.eval();
  EXPECT_FALSE(net.body->modules()[0]->is_training());
  net.train();
  EXPECT_TRUE(net.body->modules()[2]->is_training());
}

TEST(Module, ForgetsGradientsOrZeroesThem) {
  Net net;
  const Tensor x = ones({4, 2});
  net(x).sum().backward();
  EXPECT_TRUE(net.scale.grad().defined());
  net.zero_grad(false);
  EXPECT_EQ(net.scale.grad().item<float>(), 0);
  net.zero_grad();
  EXPECT_FALSE(net.scale.grad().defined());

  net(x).sum().backward({}, {.create_graph = true});
  net.zero_grad(false);
  EXPECT_FALSE(net.scale.grad().requires_grad());
}

TEST(Module, ListsTheModulesWithin) {
  Net net;
  std::vector<std::string> all;
  for (const auto& [name, module] : net.named_modules()) all.push_back(name);
  EXPECT_THAT(all, ElementsAre("", "body", "body.0", "body.1", "body.2"));
  EXPECT_EQ(net.named_modules()[0].second, &net);
  ASSERT_EQ(net.children().size(), 1u);
  EXPECT_EQ(net.children()[0], net.body);
  EXPECT_EQ(net.named_children()[0].first, "body");
  const auto shared = std::make_shared<ReLU>();
  Sequential twice(shared, shared);
  EXPECT_EQ(twice.children().size(), 1u);
  EXPECT_EQ(twice.named_children().size(), 1u);
  EXPECT_EQ(twice.named_modules().size(), 2u);
}

TEST(Module, AppliesAFunctionToAllWithin) {
  Net net;
  std::vector<Module*> seen;
  net.apply([&](Module& module) { seen.push_back(&module); });
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[3], net.body.get());
  EXPECT_EQ(seen[4], &net);
}

TEST(Module, FreezesItsParameters) {
  Net net;
  net.requires_grad_(false);
  EXPECT_FALSE(net(ones({1, 2})).requires_grad());
  net.requires_grad_();
  EXPECT_TRUE(net(ones({1, 2})).requires_grad());
}

TEST(Module, ConvertsInPlace) {
  Net net;
  const Tensor weight = net.named_parameters()[1].tensor;
  net(ones({1, 2})).sum().backward();
  const auto before = weight.to_vector<float>();
  net.to(DType::kF64);
  EXPECT_EQ(weight.dtype(), DType::kF64);  // Handles see the change.
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_EQ(weight.grad().dtype(), DType::kF64);
  EXPECT_EQ(net.count.dtype(), DType::kF64);
  const auto after = weight.to_vector<double>();
  EXPECT_EQ(before, std::vector<float>(after.begin(), after.end()));
  const Tensor x = ones({1, 2}, {.dtype = DType::kF64});
  net.zero_grad();
  net(x).sum().backward();  // Modules see it as well.
  EXPECT_EQ(weight.grad().dtype(), DType::kF64);
  EXPECT_THROW(net.to(DType::kI32), InvalidArgument);
  const Tensor y = net(x);
  EXPECT_THROW(net.to(DType::kF32), Error);  // A graph is alive.
}

}  // namespace
}  // namespace hvd::nn
