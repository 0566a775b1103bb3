#include "horovodpp/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd/autograd.h"
#include "horovodpp/nn/nn.h"

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

TEST(Module, RefusesNamesThatAreTakenOrHaveDotsAndPartsThatAreNone) {
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

}  // namespace
}  // namespace hvd::nn
