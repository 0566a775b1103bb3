// SPDX-License-Identifier: Apache-2.0
// Composed modules load a state_dict of PyTorch's, and compute the same results
// and gradients. test/fixtures/make_composed_module_fixtures.py makes the
// numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/ops.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"
#include "test/models/same_numbers.h"

namespace hvd::nn {
namespace {

using MakeComposed = std::function<std::shared_ptr<Module>()>;

// A bilinear map of the input and of a part of the input.
struct OfItsPart : Bilinear {
  OfItsPart() : Bilinear(5, 4, 3) {}
  Tensor forward(const Tensor& x) override {
    return run(x, x.narrow(-1, 0, 4));
  }
};

std::map<std::string, MakeComposed> composed_modules() {
  return {
      {"unfold",
       [] {
         return std::make_shared<Unfold>(PatchOptions{.kernel = {2, 3},
                                                      .dilation = {2, 1},
                                                      .padding = {1, 0},
                                                      .stride = {1, 2}});
       }},
      {"fold",
       [] {
         return std::make_shared<Fold>(
             Pair(5, 6),
             PatchOptions{.kernel = 2, .padding = 1, .stride = {2, 1}});
       }},
      {"unflatten",
       [] {
         return std::make_shared<Unflatten>(1, autograd::Dims{2, 2});
       }},
      {"channel_shuffle", [] { return std::make_shared<ChannelShuffle>(2); }},
      {"local_response_norm",
       [] {
         return std::make_shared<LocalResponseNorm>(
             3, LocalResponseNormOptions{.alpha = 0.5, .beta = 0.6, .k = 1.5});
       }},
      {"local_response_norm_even",
       [] {
         return std::make_shared<LocalResponseNorm>(
             2, LocalResponseNormOptions{.alpha = 0.5});
       }},
      {"bilinear", [] { return std::make_shared<OfItsPart>(); }}};
}

const std::map<std::string, Tensor>& composed_numbers() {
  static const auto file = read_fixture("composed_modules.safetensors");
  return file;
}

std::shared_ptr<Module> loaded_composed(const std::string& name,
                                        const MakeComposed& make) {
  const auto module = make();
  StateDict state;
  const std::string prefix = name + ".state.";
  for (const auto& [key, tensor] : composed_numbers()) {
    if (!key.starts_with(prefix)) continue;
    state.push_back({key.substr(prefix.size()), tensor});
  }
  module->to(DType::kF64);
  module->load_state_dict(state);
  return module;
}

TEST(ComposedModules, ComputeTheResultsAndGradientsOfPyTorch) {
  for (const auto& [name, make] : composed_modules()) {
    SCOPED_TRACE(name);
    const auto module = loaded_composed(name, make);
    const Tensor x =
        composed_numbers().at(name + ".in").clone().set_requires_grad(true);
    const Tensor y = (*module)(x);
    expect_near(y, composed_numbers().at(name + ".out"), 1e-12);
    y.backward(same_uniform(name, y.shape()));
    expect_near(x.grad(), composed_numbers().at(name + ".grad"), 1e-11);
  }
}

TEST(ComposedModules, HaveSecondDerivatives) {
  for (const auto& [name, make] : composed_modules()) {
    SCOPED_TRACE(name);
    const auto module = loaded_composed(name, make);
    const Tensor x = composed_numbers()
                         .at(name + ".in")
                         .narrow(0, 0, 1)
                         .clone()
                         .set_requires_grad(true);
    const auto run = [&](const std::vector<Tensor>& in) {
      const Tensor y = (*module)(in[0]);
      return std::vector{(y * y).sum()};
    };
    EXPECT_NO_THROW(autograd::gradgradcheck(run, {x}));
  }
}

TEST(EmbeddingBag, ReducesBagsAsPyTorchDoes) {
  const std::map<std::string, EmbeddingBagOptions> bags = {
      {"bag_sum", {.mode = BagMode::kSum}},
      {"bag_mean", {.mode = BagMode::kMean, .padding_index = 1}},
      {"bag_max", {.mode = BagMode::kMax}}};
  const Tensor words = from_vector<std::int64_t>({3, 1, 4, 1, 5, 2, 3, 0}, {8});
  const Tensor offsets = from_vector<std::int64_t>({0, 3, 3, 6}, {4});
  for (const auto& [name, options] : bags) {
    SCOPED_TRACE(name);
    EmbeddingBag bag(6, 3, options);
    bag.to(DType::kF64);
    bag.load_state_dict({{"weight", composed_numbers().at(name + ".weight")}});
    const Tensor y = bag.run(words, offsets);
    expect_near(y, composed_numbers().at(name + ".out"), 1e-12);
    y.backward(same_uniform(name, y.shape()));
    expect_near(bag.parameters()[0].grad(),
                composed_numbers().at(name + ".grad"), 1e-12);
  }
}

TEST(EmbeddingBag, RefusesOffsetsThatDecrease) {
  EmbeddingBag bag(6, 3);
  const Tensor words = from_vector<std::int64_t>({3, 1, 4}, {3});
  const auto run = [&](const std::vector<std::int64_t>& offsets) {
    return bag.run(words, from_vector(offsets, {2}));
  };
  EXPECT_EQ(run({0, 3}).shape(), autograd::Dims({2, 3}));
  EXPECT_ERROR(InvalidArgument, "offsets do not rise", run({1, 2}));
  EXPECT_ERROR(InvalidArgument, "offsets do not rise", run({0, 4}));
  EXPECT_ERROR(InvalidArgument, "not [n, size]", bag(words));
  EXPECT_EQ(bag(words.view({3, 1})).shape(), autograd::Dims({3, 3}));
  EXPECT_ERROR(InvalidArgument, "index 9 is not within",
               bag(from_vector<std::int64_t>({9}, {1, 1})));
  EXPECT_ERROR(InvalidArgument, "padding index 6",
               EmbeddingBag(6, 3, {.padding_index = 6}));
}

TEST(ChannelDropout, DropsWholeChannels) {
  manual_seed(3);
  Dropout2d dropout(0.5);
  const Tensor y = dropout(ones({8, 16, 3, 2}));
  std::int64_t kept = 0;
  for (std::int64_t n = 0; n < 8; ++n) {
    for (std::int64_t c = 0; c < 16; ++c) {
      const auto channel = y.select(0, n).select(0, c).to_vector<float>();
      EXPECT_THAT(channel, testing::Each(channel[0]));
      EXPECT_TRUE(channel[0] == 0 || channel[0] == 2);
      kept += channel[0] == 2;
    }
  }
  EXPECT_GT(kept, 32);
  EXPECT_LT(kept, 96);
  const Tensor unbatched = Dropout1d(0.5)(ones({64, 4}));
  EXPECT_EQ(unbatched.select(1, 0).to_vector<float>(),
            unbatched.select(1, 3).to_vector<float>());
  dropout.eval();
  EXPECT_EQ(sum(dropout(ones({1, 2, 3, 2}))).item<float>(), 12);
  EXPECT_ERROR(InvalidArgument, "dimensions behind its channels",
               dropout(ones({2})));
  EXPECT_ERROR(InvalidArgument, "not in [0, 1]", Dropout3d(1.5));
}

TEST(FeatureAlphaDropout, DropsWholeChannelsAlike) {
  manual_seed(6);
  FeatureAlphaDropout dropout(0.5);
  const Tensor x = ones({40, 50, 3}, {.requires_grad = true});
  const Tensor y = dropout(x);
  const Tensor first = narrow(y, 2, 0, 1);
  EXPECT_TRUE(equal(y, expand(first, {40, 50, 3})));
  const Tensor dropped = lt(first.detach(), 0.0);
  EXPECT_NEAR(mean(to(dropped, DType::kF32)).item<float>(), 0.5, 0.05);
  y.sum().backward();
  EXPECT_TRUE(equal(eq(narrow(x.grad(), 2, 0, 1), 0.0), dropped));
  EXPECT_THROW(dropout(ones({3})), InvalidArgument);
  dropout.eval();
  EXPECT_TRUE(equal(dropout(x), x));
}

TEST(AlphaDropout, KeepsMeanAndVariance) {
  manual_seed(5);
  AlphaDropout dropout(0.3);
  const Tensor x = randn({100000});
  const Tensor y = dropout(x);
  const float middle = mean(y).item<float>();
  EXPECT_NEAR(middle, 0, 0.03);
  EXPECT_NEAR(mean((y - middle) * (y - middle)).item<float>(), 1, 0.05);
  dropout.eval();
  EXPECT_TRUE(dropout(x).is_same(x));
  EXPECT_EQ(sum(AlphaDropout(1.0)(ones({4}))).item<float>(), 0);
}

}  // namespace
}  // namespace hvd::nn
