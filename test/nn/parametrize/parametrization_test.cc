// SPDX-License-Identifier: Apache-2.0
// Weight and spectral norms load a state_dict of PyTorch's, and compute the
// same results and gradients, also when they are recomputed.
// test/fixtures/make_parametrization_fixtures.py makes the numbers.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "test/autograd/near.h"
#include "test/models/same_numbers.h"

namespace hvd::nn {
namespace {

using MakeModule = std::function<std::shared_ptr<Module>()>;

template <typename M, typename... Args>
MakeModule weight_normed(std::optional<std::int64_t> dim, Args... args) {
  return [=] {
    auto module = std::make_shared<M>(args...);
    weight_norm(*module, {.dim = dim});
    return module;
  };
}

template <typename M, typename... Args>
MakeModule spectral_normed(const SpectralNormOptions& options, Args... args) {
  return [=] {
    auto module = std::make_shared<M>(args...);
    spectral_norm(*module, options);
    return module;
  };
}

const std::map<std::string, MakeModule>& cases() {
  static const std::map<std::string, MakeModule> all = {
      {"linear", weight_normed<Linear>(0, 4, 3)},
      {"linear_columns", weight_normed<Linear>(1, 4, 3)},
      {"linear_whole", weight_normed<Linear>(std::nullopt, 4, 3)},
      {"conv1d", weight_normed<Conv1d>(0, 4, 6, 3, Conv1dOptions{.groups = 2})},
      {"conv2d", weight_normed<Conv2d>(-3, 3, 4, 2)},
      {"conv_transpose2d", weight_normed<ConvTranspose2d>(0, 3, 4, 2)},
      {"spectral_linear", spectral_normed<Linear>({}, 4, 3)},
      {"spectral_conv2d",
       spectral_normed<Conv2d>({.power_iterations = 3}, 3, 4, 2)},
      {"spectral_conv_transpose2d",
       spectral_normed<ConvTranspose2d>({.dim = 1}, 3, 4, 2)}};
  return all;
}

Tensor wanted(const std::string& name) {
  static const auto file = read_fixture("parametrizations.safetensors");
  const auto found = file.find(name);
  if (found == file.end()) throw std::out_of_range(name);
  return found->second;
}

StateDict state(const std::string& name) {
  static const auto file =
      load_safetensors(HVD_FIXTURES "/parametrizations.safetensors").tensors;
  return without_prefix(name + ".state.", file);
}

void expect_wanted(const Tensor& found, const std::string& name) {
  SCOPED_TRACE(name);
  expect_near(found, wanted(name), 1e-12);
}

// The results of two forwards before one backward.
void expect_training(Module& module, const std::string& name) {
  Tensor x = wanted(name + ".in").clone();
  x.set_requires_grad(true);
  const Tensor first = module(x);
  const Tensor second = module(2 * x);
  expect_wanted(first, name + ".out0");
  expect_wanted(second, name + ".out1");
  (sum(square(first)) + 2 * sum(square(second))).backward();
  expect_wanted(x.grad(), name + ".grad");
  for (const auto& [key, parameter] : module.named_parameters()) {
    expect_wanted(parameter.grad(), name + ".grad." + key);
  }
  for (const auto& [key, tensor] : module.state_dict()) {
    expect_wanted(tensor, name + ".after." + key);
  }
}

class Parametrized : public testing::TestWithParam<std::string> {
 protected:
  static std::shared_ptr<Module> loaded() {
    const std::shared_ptr<Module> module = cases().at(GetParam())();
    module->to(DType::kF64);
    module->load_state_dict(state(GetParam()));
    return module;
  }
};

TEST_P(Parametrized, EqualsPyTorchs) {
  const auto module = loaded();
  expect_training(*module, GetParam());
  module->eval();
  const StateDict before = module->state_dict();
  expect_wanted((*module)(wanted(GetParam() + ".in")),
                GetParam() + ".evaluated");
  for (const auto& [key, tensor] : before) {
    expect_wanted(tensor, GetParam() + ".after." + key);
  }
}

TEST_P(Parametrized, EqualsPyTorchsWhenRecomputed) {
  const auto module = loaded();
  checkpoint(*module);
  expect_training(*module, GetParam());
}

TEST_P(Parametrized, HasSecondDerivatives) {
  const auto module = loaded();
  module->eval();
  Tensor x = wanted(GetParam() + ".in").clone();
  x.set_requires_grad(true);
  std::vector<Tensor> inputs = module->parameters();
  inputs.push_back(x);
  const auto call = [&](const std::vector<Tensor>&) {
    return std::vector<Tensor>{(*module)(x)};
  };
  autograd::gradcheck(call, inputs);
  autograd::gradgradcheck(call, inputs);
}

TEST_P(Parametrized, KeepsTheValueWhenRemoved) {
  const auto module = loaded();
  module->eval();
  const Tensor x = wanted(GetParam() + ".in");
  const Tensor before = (*module)(x);
  remove_parametrization(*module);
  expect_near((*module)(x), before, 1e-12);
  std::vector<std::string> names;
  for (const auto& named : module->state_dict()) names.push_back(named.name);
  EXPECT_EQ(names, (std::vector<std::string>{"bias", "weight"}));
  (*module)(x).sum().backward();
  for (const Tensor& p : module->parameters()) {
    EXPECT_TRUE(p.grad().defined());
  }
  EXPECT_THROW(remove_parametrization(*module), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(, Parametrized, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, make] : cases()) {
                             names.push_back(name);
                           }
                           return names;
                         }()),
                         [](const auto& named) { return named.param; });

TEST(WeightNorm, KeepsTheWeight) {
  Linear module(4, 3);
  const Tensor weight = module.weight().clone();
  weight_norm(module);
  expect_near(module.weight(), weight, 1e-6);
}

TEST(WeightNorm, LoadsFormerNames) {
  Linear module(4, 3);
  weight_norm(module);
  module.to(DType::kF64);
  module.load_state_dict(renamed_weight_norms(state("former")));
  expect_wanted(module(wanted("former.in")), "former.out");
}

TEST(WeightNorm, RenamesWholeNamesOnly) {
  const Tensor t = zeros({1});
  const StateDict renamed = renamed_weight_norms(
      {{"a.weight_g", t}, {"weight_v", t}, {"my_weight_g", t}, {"b.bias", t}});
  EXPECT_EQ(renamed[0].name, "a.parametrizations.weight.original0");
  EXPECT_EQ(renamed[1].name, "parametrizations.weight.original1");
  EXPECT_EQ(renamed[2].name, "my_weight_g");
  EXPECT_EQ(renamed[3].name, "b.bias");
}

TEST(WeightNorm, RefusesOtherWeights) {
  Linear linear(4, 3);
  EXPECT_THROW(weight_norm(linear, {.name = "bias"}), InvalidArgument);
  EXPECT_THROW(weight_norm(linear, {.dim = 2}), InvalidArgument);
  LayerNorm norm({4});
  EXPECT_THROW(weight_norm(norm), InvalidArgument);
  weight_norm(linear);
  EXPECT_THROW(spectral_norm(linear), InvalidArgument);
}

TEST(SpectralNorm, FindsTheLargestSingularValue) {
  Linear module(3, 2, {.bias = false, .dtype = DType::kF64});
  {
    NoGrad no_grad;
    module.weight().copy_(
        from_vector(std::vector<double>{3, 0, 0, 0, -7, 0}, {2, 3}));
  }
  spectral_norm(module);
  module.eval();
  expect_near(module.weight(),
              from_vector(std::vector<double>{3. / 7, 0, 0, 0, -1, 0}, {2, 3}),
              1e-6);
}

TEST(SpectralNorm, RefusesImpossibleOptions) {
  Linear linear(4, 3);
  EXPECT_THROW(spectral_norm(linear, {.power_iterations = 0}), InvalidArgument);
  EXPECT_THROW(spectral_norm(linear, {.dim = -3}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
