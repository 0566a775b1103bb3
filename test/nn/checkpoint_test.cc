// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/checkpoint.h"

#include <functional>
#include <memory>
#include <string>

#include "horovodpp/nn/images/convolutions.h"
#include "horovodpp/nn/layers/functions.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/nn/layers/norms.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using nn::Sequential;

std::shared_ptr<Sequential> block() {
  return std::make_shared<Sequential>(
      std::make_shared<nn::Conv2d>(3, 4, 3, nn::Conv2dOptions{.padding = 1}),
      std::make_shared<nn::BatchNorm2d>(4), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Dropout>(0.5));
}

struct Outcome {
  std::vector<float> output, input_grad, running_mean;
  std::int64_t batches = 0;
  std::vector<std::vector<float>> grads;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// One forward and backward of a block with known weights.
Outcome outcome_of(
    const std::function<Tensor(Sequential&, const Tensor&)>& run) {
  manual_seed(5);
  auto model = block();
  Tensor x = randn({2, 3, 6, 6}, {.requires_grad = true});
  Tensor y = run(*model, x);
  (y * y).sum().backward();
  Outcome result{y.to_vector<float>(), x.grad().to_vector<float>(), {}, 0, {}};
  for (const auto& [name, buffer] : model->named_buffers()) {
    if (name == "1.running_mean") {
      result.running_mean = buffer.to_vector<float>();
    } else if (name == "1.num_batches_tracked") {
      result.batches = buffer.item<std::int64_t>();
    }
  }
  for (const auto& [name, p] : model->named_parameters()) {
    result.grads.push_back(p.grad().to_vector<float>());
  }
  return result;
}

// Items 179, 202.
TEST(NnCheckpoint, ChangesOnlyTheMemory) {
  const Outcome plain =
      outcome_of([](Sequential& m, const Tensor& x) { return m(x); });
  EXPECT_EQ(plain.batches, 1);
  EXPECT_EQ(outcome_of([](Sequential& m, const Tensor& x) {
              nn::checkpoint(m);
              return m(x);
            }),
            plain);
  EXPECT_EQ(outcome_of([](Sequential& m, const Tensor& x) {
              nn::CheckpointScope scope(
                  m, [](const std::string& name, const nn::Module&) {
                    return name == "1" || name == "3";
                  });
              return m(x);
            }),
            plain);
  EXPECT_EQ(outcome_of([](Sequential& m, const Tensor& x) {
              return nn::checkpoint_sequential(m, 2, x);
            }),
            plain);
  EXPECT_EQ(outcome_of([](Sequential& m, const Tensor& x) {
              return nn::checkpoint_sequential(
                  m, CheckpointPlan::parse("((0 1) 2) 3"), x);
            }),
            plain);
}

struct Counts : nn::Module {
  int runs = 0;
  Tensor forward(const Tensor& x) override {
    ++runs;
    return sin(x);
  }
};

TEST(NnCheckpoint, TheScopeEndsAndHooksRunOnce) {
  Counts module;
  Tensor x = leaf({1, 2}, {2});
  int heard = 0;
  module.register_forward_hook(
      [&](nn::Module&, const Tensor&, const Tensor&) { ++heard; });
  {
    nn::CheckpointScope scope(
        module, [](const std::string&, const nn::Module&) { return true; });
    module(x).sum().backward();
  }
  EXPECT_EQ(module.runs, 2);
  EXPECT_EQ(heard, 1);
  module(x).sum().backward();
  EXPECT_EQ(module.runs, 3);
  nn::checkpoint(module);
  module(x).sum().backward();
  EXPECT_EQ(module.runs, 5);
  nn::uncheckpoint(module);
  module(x).sum().backward();
  EXPECT_EQ(module.runs, 6);
}

TEST(NnCheckpoint, NamesAParameterThatWasModified) {
  auto linear = std::make_shared<nn::Linear>(2, 2);
  nn::checkpoint(*linear);
  Tensor x = ones({1, 2}, {.requires_grad = true});
  Tensor y = (*linear)(x).sum();
  {
    NoGrad no_grad;
    linear->named_parameters()[0].tensor.add_(1.0);
  }
  EXPECT_ERROR(autograd::CheckpointError, "'weight'", y.backward());
}

TEST(NnCheckpoint, ReportsAModuleChangedBeforeBackward) {
  Tensor x = leaf({1, 2}, {2});
  auto module = std::make_shared<Counts>();
  nn::checkpoint(*module);
  Tensor y = (*module)(x).sum();
  module->eval();
  EXPECT_ERROR(autograd::CheckpointError, "in training", y.backward());
  module->train();
  y = (*module)(x).sum();
  module.reset();
  EXPECT_ERROR(autograd::CheckpointError, "module is gone", y.backward());
}

}  // namespace
}  // namespace hvd
