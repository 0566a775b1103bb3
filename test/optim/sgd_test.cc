// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"

namespace hvd::optim {
namespace {

using testing::ElementsAre;

// PyTorch's formula, written with tensors.
struct Reference {
  Tensor p, buffer;
  void step(const Tensor& gradient, const SGDOptions& o) {
    NoGrad no_grad;
    Tensor g = gradient + p * o.weight_decay;
    if (o.momentum != 0) {
      buffer = buffer.defined() ? buffer * o.momentum + g * (1 - o.dampening)
                                : g.clone();
      g = o.nesterov ? g + buffer * o.momentum : buffer;
    }
    p = p - g * o.learning_rate;
  }
};

class SGDFormula : public testing::TestWithParam<SGDOptions> {};

TEST_P(SGDFormula, IsPyTorchs) {
  manual_seed(2);
  Tensor start = randn({4, 3}, {.dtype = DType::kF64});
  // One parameter lies by rows, one by columns, one has gaps in memory.
  Tensor rows = start.clone().set_requires_grad(true);
  Tensor columns = start.t().clone().t().detach().set_requires_grad(true);
  Tensor wide = zeros({4, 6}, {.dtype = DType::kF64});
  Tensor gaps = wide.narrow(1, 0, 3).detach();
  gaps.copy_(start);
  gaps.set_requires_grad(true);
  SGD optimizer(std::vector<Tensor>{rows, columns, gaps}, GetParam());
  Reference reference{start, {}};
  for (int step = 0; step < 5; ++step) {
    const Tensor gradient = randn({4, 3}, {.dtype = DType::kF64});
    for (const Tensor& p : {rows, columns, gaps}) {
      p.backward(gradient);
    }
    optimizer.step();
    optimizer.zero_grad();
    reference.step(gradient, GetParam());
    for (const Tensor& p : {rows, columns, gaps}) {
      const auto found = p.to_vector<double>();
      const auto wanted = reference.p.to_vector<double>();
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], wanted[i], 1e-12);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , SGDFormula,
    testing::Values(SGDOptions{.learning_rate = 0.1},
                    SGDOptions{.learning_rate = 0.1, .weight_decay = 0.01},
                    SGDOptions{.learning_rate = 0.1, .momentum = 0.9},
                    SGDOptions{.learning_rate = 0.1,
                               .momentum = 0.9,
                               .dampening = 0.5,
                               .weight_decay = 0.01},
                    SGDOptions{.learning_rate = 0.1,
                               .momentum = 0.9,
                               .weight_decay = 0.01,
                               .nesterov = true}));

TEST(SGD, LeavesParametersWithoutGradientAlone) {
  Tensor a = ones({2}, {.requires_grad = true});
  Tensor b = ones({2}, {.requires_grad = true});
  SGD optimizer({{"a", a}, {"b", b}}, {.learning_rate = 1, .momentum = 0.5});
  a.sum().backward();
  optimizer.step();
  EXPECT_THAT(a.to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(b.to_vector<float>(), ElementsAre(1, 1));
  ASSERT_EQ(optimizer.state().size(), 1u);
  EXPECT_EQ(optimizer.state()[0].name, "a.momentum_buffer");
}

TEST(SGD, AStepCountsAsAWrite) {
  Tensor w = ones({2}, {.requires_grad = true});
  SGD optimizer(std::vector<Tensor>{w}, {.learning_rate = 1});
  Tensor y = (w * w).sum();
  w.sum().backward();
  optimizer.step();
  EXPECT_THROW(y.backward(), autograd::VersionError);
  EXPECT_TRUE(w.is_leaf());
}

TEST(SGD, RefusesInvalidOptionsAndParameters) {
  Tensor w = ones({2}, {.requires_grad = true});
  const std::vector<Tensor> one{w};
  EXPECT_THROW(SGD(one, {.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(SGD(one, {.momentum = -1}), InvalidArgument);
  EXPECT_THROW(SGD(one, {.nesterov = true}), InvalidArgument);
  EXPECT_THROW(SGD(std::vector<Tensor>{}), InvalidArgument);
  EXPECT_THROW(SGD(std::vector<Tensor>{w, w}), InvalidArgument);
  EXPECT_THROW(SGD(std::vector<Tensor>{w * 2.0}), InvalidArgument);
  EXPECT_THROW(SGD(std::vector<Tensor>{Tensor()}), InvalidArgument);
  SGD optimizer(one);
  optimizer.set_learning_rate(0.5);
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
  EXPECT_THROW(optimizer.set_learning_rate(-0.5), InvalidArgument);
}

// Item 46 of the autograd contract: stepping inside hooks equals stepping after
// backward, and ends when the hooks are removed.
TEST(SGD, MayStepWithinBackward) {
  const auto make = [] {
    manual_seed(4);
    return std::make_unique<nn::Sequential>(std::make_shared<nn::Linear>(3, 4),
                                            std::make_shared<nn::ReLU>(),
                                            std::make_shared<nn::Linear>(4, 1));
  };
  auto plain = make(), hooked = make();
  const SGDOptions options{.learning_rate = 0.1, .momentum = 0.9};
  SGD optimizer(plain->named_parameters(), options);
  std::vector<std::unique_ptr<SGD>> optimizers;
  std::vector<autograd::HookHandle> handles;
  for (const Tensor& p : hooked->parameters()) {
    optimizers.push_back(
        std::make_unique<SGD>(std::vector<Tensor>{p}, options));
    handles.push_back(p.register_post_accumulate_grad_hook(
        [&step = *optimizers.back()](const Tensor&) {
          step.step();
          step.zero_grad();
        }));
  }
  const Tensor x = randn({5, 3});
  const auto values = [](nn::Module& model) {
    std::vector<float> all;
    for (const Tensor& p : model.parameters()) {
      for (float v : p.to_vector<float>()) all.push_back(v);
    }
    return all;
  };
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    (*plain)(x).sum().backward();
    optimizer.step();
    (*hooked)(x).sum().backward();
    EXPECT_EQ(values(*plain), values(*hooked));
  }
  for (auto& handle : handles) handle.remove();
  const auto before = values(*hooked);
  (*hooked)(x).sum().backward();
  EXPECT_EQ(values(*hooked), before);
}

TEST(Training, AnMlpLearnsXor) {
  manual_seed(11);
  nn::Sequential model(std::make_shared<nn::Linear>(2, 16),
                       std::make_shared<nn::ReLU>(),
                       std::make_shared<nn::Linear>(16, 2));
  SGD optimizer(model.named_parameters(),
                {.learning_rate = 0.1, .momentum = 0.9});
  const Tensor x = from_vector<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const Tensor y = from_vector<std::int64_t>({0, 1, 1, 0}, {4});
  float loss_value = 0;
  for (int step = 0; step < 300; ++step) {
    optimizer.zero_grad();
    Tensor loss = cross_entropy(model(x), y);
    loss.backward();
    optimizer.step();
    loss_value = loss.item<float>();
  }
  EXPECT_LT(loss_value, 0.01f);
  NoGrad no_grad;
  EXPECT_THAT(argmax(model(x)).to_vector<std::int64_t>(),
              ElementsAre(0, 1, 1, 0));
}

}  // namespace
}  // namespace hvd::optim
