// SPDX-License-Identifier: Apache-2.0
// Sections 1K and 1M of the contract: the reentrant checkpoint, and its replay
// of random numbers and autocast.
#include "horovodpp/autograd/reentrant_checkpoint.h"

#include <utility>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/autograd/warning.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::checkpoint_reentrant;
using autograd::CheckpointError;
using testing::HasSubstr;
using Tensors = std::vector<Tensor>;

struct Layer {
  Tensor w = randn64({3, 3});
  int runs = 0;
  autograd::CheckpointedFunction function() {
    return [this](const Tensors& x) {
      ++runs;
      return Tensors{tanh(linear(x[0], w)) * x[0]};
    };
  }
};

// Items 139, 140, 150.
TEST(ReentrantCheckpoint, KeepsItsInputsOnlyAndGivesTheSameGradients) {
  Layer layer;
  Tensor x = randn64({2, 3});
  const std::int64_t before = autograd::saved_tensor_bytes();
  Tensor y = checkpoint_reentrant(layer.function(), {x})[0];
  EXPECT_EQ(autograd::saved_tensor_bytes() - before, 48);
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  EXPECT_EQ(layer.runs, 2);
  const auto dx = values(x.grad()), dw = values(layer.w.grad());
  x.set_grad({});
  layer.w.set_grad({});
  layer.function()({x})[0].sum().backward();
  EXPECT_EQ(values(x.grad()), dx);
  EXPECT_EQ(values(layer.w.grad()), dw);
}

// Item 141.
TEST(ReentrantCheckpoint, WarnsIfNoInputRequiresGrad) {
  std::vector<std::string> heard;
  autograd::Warnings warnings(
      [&](const std::string& text) { heard.push_back(text); });
  Layer layer;
  Tensor y = checkpoint_reentrant(layer.function(), {ones64({2, 3})})[0];
  EXPECT_FALSE(y.requires_grad());
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_THAT(heard[0], HasSubstr("Gradients will be None"));
}

// Item 142.
TEST(ReentrantCheckpoint, ARegionWithoutGradientsIsAnError) {
  const auto constant_body = [](const Tensors& x) {
    NoGrad no_grad;
    return Tensors{x[0] * 2.0};
  };
  Tensor y = checkpoint_reentrant(constant_body, {leaf(1)})[0];
  EXPECT_ERROR(CheckpointError, "this checkpoint() is not necessary",
               y.backward());
}

// Item 143.
TEST(ReentrantCheckpoint, ADetachedResultDoesNotContribute) {
  Tensor x = leaf(3);
  const Tensors y = checkpoint_reentrant(
      [](const Tensors& in) {
        return Tensors{in[0] * 2.0, (in[0] * 5.0).detach()};
      },
      {x});
  EXPECT_TRUE(y[1].requires_grad());
  (y[0] + y[1]).backward();
  EXPECT_EQ(value(x.grad()), 2);
}

// Item 144.
TEST(ReentrantCheckpoint, GradAndInputsAreErrors) {
  Layer layer;
  Tensor x = randn64({2, 3});
  Tensor loss = checkpoint_reentrant(layer.function(), {x})[0].sum();
  EXPECT_ERROR(CheckpointError, "incompatible with .grad()",
               autograd::grad({loss}, {x}, {}, {.retain_graph = true}));
  EXPECT_ERROR(CheckpointError, "incompatible with .grad()",
               loss.backward({}, {.retain_graph = true, .inputs = Tensors{x}}));
  loss.backward();
  EXPECT_TRUE(layer.w.grad().defined());
}

// Item 145.
TEST(ReentrantCheckpoint, DetachedInputsAreLeavesOfTheSameKind) {
  const Tensors out =
      autograd::detach_all({leaf(1) * 2.0, constant(2), Tensor()});
  EXPECT_TRUE(out[0].is_leaf() && out[0].requires_grad());
  EXPECT_FALSE(out[0].grad().defined());
  EXPECT_FALSE(out[1].requires_grad());
  EXPECT_FALSE(out[2].defined());
}

// Item 148.
TEST(ReentrantCheckpoint, IntermediatesLiveForOneRegionAtATime) {
  Layer layer;
  Tensor x = randn64({100, 3});
  Tensor y = x;
  const std::int64_t before = autograd::saved_tensor_bytes();
  for (int i = 0; i < 8; ++i)
    y = checkpoint_reentrant(layer.function(), {y})[0];
  EXPECT_EQ(autograd::saved_tensor_bytes() - before, 8 * 2400);
  y.sum().backward();
  EXPECT_EQ(autograd::saved_tensor_bytes(), before);
}

// Item 149.
TEST(ReentrantCheckpoint, ARetainedGraphRunsAgain) {
  Layer layer;
  Tensor x = randn64({2, 3});
  Tensor y = checkpoint_reentrant(layer.function(), {x})[0].sum();
  y.backward({}, {.retain_graph = true});
  y.backward();
  EXPECT_EQ(layer.runs, 3);
  EXPECT_THROW(y.backward(), autograd::GraphFreedError);
}

// Items 53, 151.
TEST(ReentrantCheckpoint, HooksOfASharedParameterFireTwice) {
  Layer layer;
  int fired = 0;
  layer.w.register_post_accumulate_grad_hook([&](const Tensor&) { ++fired; });
  Tensor x = randn64({2, 3});
  Tensor y = checkpoint_reentrant(layer.function(), {x})[0];
  linear(y, layer.w).sum().backward();
  EXPECT_EQ(fired, 2);
}

// Item 152.
TEST(ReentrantCheckpoint, AChangedGlobalIsNotNoticed) {
  double factor = 2;
  Tensor x = leaf(1);
  Tensor y = checkpoint_reentrant(
      [&](const Tensors& in) { return Tensors{in[0] * factor}; }, {x})[0];
  factor = 7;
  y.backward();
  EXPECT_EQ(value(x.grad()), 7);
}

// Item 177, also for reentrant checkpoints.
TEST(ReentrantCheckpoint, ACapturedTensorThatWasModifiedIsAnError) {
  Tensor x = randn64({3}), w = randn64({3}), statistic = ones64({3});
  const auto body = [=](const Tensors& in) {
    return Tensors{in[0] * w / statistic};
  };
  const Tensor y = checkpoint_reentrant(body, {x})[0];
  const Tensor z = checkpoint_reentrant(body, {x})[0];
  y.sum().backward();
  statistic.add_(1.0);
  EXPECT_ERROR(CheckpointError, "in place since forward read it: version 0 → 1",
               z.sum().backward());
}

// Otherwise backward would reach the region again, without end.
TEST(ReentrantCheckpoint, ACapturedTensorMustNotDependOnTheResult) {
  Tensor x = randn64({3});
  const Tensor w = ones64({3});
  const Tensor y = checkpoint_reentrant(
      [&](const Tensors& in) { return Tensors{in[0] * w}; }, {x})[0];
  w.mul_(y);
  EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
               w.sum().backward());
}

TEST(ReentrantCheckpoint, BackwardMayRunInInferenceMode) {
  Tensor x = randn64({3});
  const Tensor y = checkpoint_reentrant(
      [](const Tensors& in) { return Tensors{exp(in[0])}; }, {x})[0];
  const Tensor sum = y.sum();
  {
    InferenceMode inference;
    sum.backward();
  }
  EXPECT_EQ(values(x.grad()), values(y.detach()));
}

// The gradients accumulate as without the region: they are inference tensors,
// to which no backward outside the mode may add.
TEST(ReentrantCheckpoint, GradientsOfInferenceModeAreInferenceTensors) {
  Tensor x = randn64({3}), y = randn64({3});
  const auto subtract = [](const Tensors& in) {
    return Tensors{in[0] - in[1]};
  };
  for (const bool is_region : {false, true}) {
    x.set_grad({});
    y.set_grad({});
    const Tensor difference = is_region
                                  ? checkpoint_reentrant(subtract, {x, y})[0]
                                  : subtract({x, y})[0];
    {
      InferenceMode inference;
      difference.backward(ones64({3}));
    }
    EXPECT_TRUE(y.grad().impl()->inference) << is_region;
    EXPECT_ERROR(autograd::InferenceError, "Inplace update to inference tensor",
                 (y * y).sum().backward());
  }
}

// Item 153.
TEST(ReentrantCheckpoint, ManySmallRegionsNeedNoStack) {
  Tensor x = randn64({2000, 1});
  const auto body = [](const Tensors& in) { return Tensors{exp(in[0])}; };
  Tensors parts;
  for (const Tensor& row : x.unbind(0)) {
    parts.push_back(checkpoint_reentrant(body, {row})[0]);
  }
  stack(parts).mean().backward();
  const auto gradient = values(x.grad());
  x.set_grad({});
  exp(x).mean().backward();
  EXPECT_EQ(values(x.grad()), gradient);
}

// Item 207.
TEST(ReentrantCheckpoint, EveryInputGetsItsGradient) {
  const auto cell = [](const Tensors& in) {
    const Tensor state = tanh(in[0] + in[1] * 0.5);
    return Tensors{state * in[0], state};
  };
  Tensor x = randn64({4, 3}), state = randn64({4, 3});
  const auto gradients = [&](const Tensors& results) {
    (results[0] * 2.0 + results[1]).sum().backward();
    const auto found = std::pair(values(x.grad()), values(state.grad()));
    x.set_grad({});
    state.set_grad({});
    return found;
  };
  EXPECT_EQ(gradients(checkpoint_reentrant(cell, {x, state})),
            gradients(cell({x, state})));
}

// Items 184, 185, 189.
TEST(ReentrantCheckpoint, RandomNumbersAndAutocastAreReplayed) {
  Tensor x = randn({4, 8}, {.requires_grad = true});
  Tensor w = randn({8, 8}, {.requires_grad = true});
  std::vector<std::vector<float>> noise;
  std::vector<DType> dtypes;
  Tensor y;
  {
    Autocast autocast;
    y = checkpoint_reentrant(
        [&](const Tensors& in) {
          const Tensor mask = bernoulli({4, 8}, 0.5);
          noise.push_back(mask.to_vector<float>());
          Tensor out = linear(in[0] * mask, w);
          dtypes.push_back(out.dtype());
          return Tensors{out};
        },
        {x})[0];
  }
  const auto state = autograd::default_generator().state();
  y.sum().backward();
  ASSERT_EQ(noise.size(), 2u);
  EXPECT_EQ(noise[0], noise[1]);
  EXPECT_EQ(dtypes[1], DType::kBF16);
  EXPECT_EQ(autograd::default_generator().state(), state);
}

// Item 186.
TEST(ReentrantCheckpoint, RandomNumbersAreDrawnAgainUnlessPreserved) {
  Tensor x = ones64({1000}, true);
  std::vector<double> mask;
  Tensor y = checkpoint_reentrant(
      [&](const Tensors& in) {
        const Tensor kept = bernoulli({1000}, 0.5, {.dtype = DType::kF64});
        mask = values(kept);
        return Tensors{in[0] * kept};
      },
      {x}, {.preserve_rng_state = false})[0];
  const auto state = autograd::default_generator().state();
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), mask);
  EXPECT_NE(values(y.detach()), mask);
  EXPECT_NE(autograd::default_generator().state(), state);
}

}  // namespace
}  // namespace hvd
