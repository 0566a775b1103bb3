// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/lstm.h"

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;

const std::vector<Dims> kShapes = {{3, 2, 3}, {2, 2}, {2, 2}, {8, 3},
                                   {8, 2},    {8},    {8}};

LstmResult run(const Inputs& x) {
  LstmWeights weights{.w_ih = x[3], .w_hh = x[4]};
  if (x.size() > 5) {
    weights.b_ih = x[5];
    weights.b_hh = x[6];
  }
  return lstm(x[0], {.h = x[1], .c = x[2]}, weights);
}

// All results in one tensor.
Tensor everything_of(const Inputs& x) {
  const LstmResult y = run(x);
  return cat({y.output.reshape({-1}), y.h.reshape({-1}), y.c.reshape({-1})});
}

TEST(Lstm, HasItsDerivatives) {
  check_grid(everything_of, kShapes);
  check_grid(everything_of, {kShapes.begin(), kShapes.begin() + 5});
  check_grid(everything_of, {{1, 2, 3}, {2, 2}, {2, 2}, {8, 3}, {8, 2}});
}

TEST(Lstm, HasTheDerivativesOfEachResultAlone) {
  check_grid([](const Inputs& x) { return run(x).c; }, kShapes);
  check_grid([](const Inputs& x) { return run(x).h; }, kShapes);
  check_grid([](const Inputs& x) { return run(x).output; }, kShapes);
}

// The LSTM by its definition, step by step.
LstmResult stepwise(const Inputs& x, std::int64_t hidden) {
  Tensor h = x[1];
  Tensor c = x[2];
  std::vector<Tensor> all;
  for (const Tensor& step : x[0].unbind(0)) {
    const Tensor gates = linear(step, x[3], x[5]) + linear(h, x[4], x[6]);
    const auto parts = gates.split(hidden, 1);
    c = sigmoid(parts[1]) * c + sigmoid(parts[0]) * tanh(parts[2]);
    h = sigmoid(parts[3]) * tanh(c);
    all.push_back(h);
  }
  return {stack(all), h, c};
}

TEST(Lstm, OfFloatsIsItsDefinition) {
  for (std::int64_t n : {5, 16, 33}) {
    manual_seed(3);
    Inputs x;
    for (const Dims& shape :
         {Dims({6, 3, 7}), Dims({3, n}), Dims({3, n}), Dims({4 * n, 7}),
          Dims({4 * n, n}), Dims({4 * n}), Dims({4 * n})}) {
      x.push_back((randn(shape) * 0.5).set_requires_grad(true));
    }
    const LstmResult got = run(x);
    const LstmResult wanted = stepwise(x, n);
    const Tensor seed = randn(got.output.shape());
    EXPECT_LT(max(abs(got.output - wanted.output)).item<float>(), 2e-6f);
    EXPECT_LT(max(abs(got.c - wanted.c)).item<float>(), 2e-6f);
    const auto a = autograd::grad({got.output, got.c}, x, {seed, got.c});
    const auto b = autograd::grad({wanted.output, wanted.c}, x, {seed, got.c});
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LT(max(abs(a[i] - b[i])).item<float>(), 3e-5f) << i;
    }
  }
}

TEST(Lstm, OfHalvesKeepsTheirDtype) {
  Inputs x;
  for (const Dims& shape : kShapes) {
    x.push_back(
        full(shape, 0.1, {.dtype = DType::kBF16, .requires_grad = true}));
  }
  const LstmResult y = run(x);
  EXPECT_EQ(y.output.dtype(), DType::kBF16);
  y.output.sum().backward();
  EXPECT_EQ(x[4].grad().dtype(), DType::kBF16);
}

TEST(Lstm, OfHalvesHasItsGradientsAlsoIfItsOutputIsWritten) {
  const auto gradient = [](bool write) {
    manual_seed(3);
    Inputs x;
    for (const Dims& shape : kShapes) {
      x.push_back(to(randn(shape), DType::kBF16).set_requires_grad(true));
    }
    const LstmResult y = run(x);
    if (write) y.output.fill_(7);
    y.c.sum().backward();
    return values(to(x[4].grad(), DType::kF64));
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST(Lstm, RefusesMismatchedInputs) {
  Inputs x;
  for (const Dims& shape : kShapes) x.push_back(ones(shape));
  Inputs bad = x;
  bad[4] = ones({8, 3});
  EXPECT_ERROR(InvalidArgument, "do not go together", run(bad));
  bad = x;
  bad[6] = Tensor();
  EXPECT_ERROR(InvalidArgument, "no biases or two of", run(bad));
  bad = x;
  bad[0] = ones({0, 2, 3});
  EXPECT_ERROR(InvalidArgument, "do not go together", run(bad));
}

}  // namespace
}  // namespace hvd
