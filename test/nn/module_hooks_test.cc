// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/module_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/nn.h"

namespace hvd::nn {
namespace {

using testing::ElementsAre;

struct Triple : Module {
  Tensor forward(const Tensor& x) override { return x * 3.0; }
};

Tensor input(bool requires_grad = true) {
  return full({2}, 1.0).set_requires_grad(requires_grad);
}

TEST(ModuleHooks, RunAroundForward) {
  Triple module;
  auto before = module.register_forward_pre_hook(
      [](Module&, const Tensor& x) { return x + 1.0; });
  auto after = module.register_forward_hook(
      [&](Module& self, const Tensor& x, const Tensor& y) {
        EXPECT_EQ(&self, &module);
        EXPECT_THAT(x.to_vector<float>(), ElementsAre(2, 2));
        return y * 10.0;
      });
  EXPECT_THAT(module(input()).to_vector<float>(), ElementsAre(60, 60));
  EXPECT_THAT(module.forward(input()).to_vector<float>(), ElementsAre(3, 3));
  before.remove();
  after.remove();
  EXPECT_THAT(module(input()).to_vector<float>(), ElementsAre(3, 3));
}

TEST(ModuleHooks, MayReturnVoid) {
  Triple module;
  int calls = 0;
  module.register_forward_pre_hook([&](Module&, const Tensor&) { ++calls; });
  module.register_forward_hook(
      [&](Module&, const Tensor&, const Tensor&) { ++calls; });
  module.register_full_backward_hook(
      [&](Module&, const Tensor&, const Tensor&) { ++calls; });
  Tensor x = input();
  module(x).sum().backward();
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(3, 3));
}

TEST(ModuleHooks, SequentialRunsThoseOfItsModules) {
  auto inner = std::make_shared<Triple>();
  Sequential model(inner, std::make_shared<ReLU>());
  inner->register_forward_hook(
      [](Module&, const Tensor&, const Tensor& y) { return -y; });
  EXPECT_THAT(model(input()).to_vector<float>(), ElementsAre(0, 0));
}

TEST(ModuleHooks, SeeTheGradientsOfEachCall) {
  Triple module;
  std::vector<float> seen;
  module.register_full_backward_hook(
      [&](Module&, const Tensor& in, const Tensor& out) {
        seen.push_back(in.to_vector<float>()[0]);
        seen.push_back(out.to_vector<float>()[0]);
      });
  Tensor x = input();
  // Other uses of input and output do not count.
  const Tensor y = module(x);
  (y.sum() + x.sum() * 100.0 + module(y).sum()).backward();
  EXPECT_THAT(seen, ElementsAre(3, 1, 12, 4));
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(112, 112));
}

TEST(ModuleHooks, ReplaceTheGradientOfTheInput) {
  Triple module;
  module.register_full_backward_hook(
      [](Module&, const Tensor& in, const Tensor&) { return in * 2.0; });
  module.register_full_backward_hook(
      [](Module&, const Tensor& in, const Tensor&) {
        EXPECT_THAT(in.to_vector<float>(), ElementsAre(6, 6));
        return in + 1.0;
      });
  Tensor x = input();
  module(x).sum().backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(7, 7));
}

TEST(ModuleHooks, OfBackwardRunWithoutAGradientOfTheInput) {
  Linear module(2, 2);
  int calls = 0;
  module.register_full_backward_hook(
      [&](Module&, const Tensor& in, const Tensor& out) {
        EXPECT_FALSE(in.defined());
        EXPECT_TRUE(out.defined());
        ++calls;
      });
  module(full({1, 2}, 1.0)).sum().backward();
  EXPECT_EQ(calls, 1);
  NoGrad no_grad;
  module(full({1, 2}, 1.0));
  EXPECT_EQ(calls, 1);
}

TEST(ModuleHooks, AreNotCalledForAModuleThatIsGone) {
  auto module = std::make_unique<Triple>();
  module->register_full_backward_hook(
      [](Module&, const Tensor&, const Tensor&) { FAIL(); });
  Tensor x = input();
  const Tensor y = (*module)(x);
  module.reset();
  y.sum().backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(3, 3));
}

}  // namespace
}  // namespace hvd::nn
