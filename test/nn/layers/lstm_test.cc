// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/lstm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"

namespace hvd::nn {
namespace {

double distance(const Tensor& a, const Tensor& b) {
  return max(abs(a - b)).item<float>();
}

TEST(Lstm, HasTheNamesOfPyTorch) {
  LSTM lstm(3, 4, {.num_layers = 2});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : lstm.named_parameters()) {
    names.push_back(name);
    EXPECT_LE(max(abs(tensor)).item<float>(), 0.5);
  }
  EXPECT_THAT(names,
              testing::ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0",
                                   "bias_hh_l0", "weight_ih_l1", "weight_hh_l1",
                                   "bias_ih_l1", "bias_hh_l1"));
  EXPECT_EQ(LSTM(3, 4, {.bias = false}).named_parameters().size(), 2u);
}

TEST(Lstm, BackwardsDependsOnTheRestOfTheSteps) {
  LSTM lstm(3, 4, {.bidirectional = true});
  EXPECT_EQ(lstm.named_parameters()[4].name, "weight_ih_l0_reverse");
  const Tensor x = randn({6, 2, 3}, {.requires_grad = true});
  const Tensor y = lstm(x);
  EXPECT_EQ(y.shape(), Shape({6, 2, 8}));
  // The output of step 2 depends on steps 0 to 2 forward, and 5 to 2 backward.
  for (const std::int64_t first : {0, 4}) {
    const Tensor used =
        autograd::grad({sum(y.select(0, 2).narrow(1, first, 4))}, {x}, {},
                       {.retain_graph = true})[0];
    for (std::int64_t step = 0; step < 6; ++step) {
      const bool seen = first == 0 ? step <= 2 : step >= 2;
      EXPECT_EQ(max(abs(used.select(0, step))).item<float>() > 0, seen) << step;
    }
  }
}

TEST(Lstm, GoesOnFromItsState) {
  LSTM lstm(3, 4, {.num_layers = 2});
  const Tensor x = randn({6, 2, 3});
  const auto whole = lstm.run(x);
  const auto first = lstm.run(x.narrow(0, 0, 4));
  const auto rest = lstm.run(x.narrow(0, 4, 2), first.state);
  EXPECT_EQ(whole.output.shape(), Shape({6, 2, 4}));
  EXPECT_EQ(rest.state.h.shape(), Shape({2, 2, 4}));
  EXPECT_LT(distance(cat({first.output, rest.output}), whole.output), 1e-6);
  EXPECT_LT(distance(rest.state.c, whole.state.c), 1e-6);
}

TEST(Lstm, DropsBetweenLayersWhileTrainingOnly) {
  LSTM one(3, 4, {.dropout = 0.9});
  LSTM two(3, 4, {.num_layers = 2, .dropout = 0.9});
  const Tensor x = randn({6, 2, 3});
  EXPECT_EQ(distance(one(x), one(x)), 0);
  EXPECT_GT(distance(two(x), two(x)), 0);
  two.eval();
  EXPECT_EQ(distance(two(x), two(x)), 0);
}

TEST(Lstm, RefusesMismatchedInputs) {
  EXPECT_THROW(LSTM(0, 4), InvalidArgument);
  EXPECT_THROW(LSTM(3, 4, {.num_layers = 0}), InvalidArgument);
  EXPECT_THROW(LSTM(3, 4, {.dropout = -1}), InvalidArgument);
  LSTM lstm(3, 4);
  EXPECT_THROW(lstm(ones({6, 3})), InvalidArgument);
  EXPECT_THROW(lstm.run(ones({6, 2, 3}), {.h = zeros({2, 4}), .c = {}}),
               InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
