// SPDX-License-Identifier: Apache-2.0
// Losses. Expected values of the options follow PyTorch's documented formulas,
// computed in double.
#include "horovodpp/ops/functional/losses.h"

#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;

constexpr Reduction kReductions[] = {Reduction::kNone, Reduction::kMean,
                                     Reduction::kSum};

Tensor targets_of(const std::vector<std::int64_t>& values, const Dims& shape) {
  return from_vector<std::int64_t>(values, shape);
}

Tensor weights() { return constant({0.5, 2.0, 1.5}, {3}); }

struct Shapes {
  Dims x;
  Tensor targets;
};

std::vector<Shapes> all_shapes() {
  return {{{4, 3}, targets_of({2, 0, -100, 1}, {4})},
          {{2, 3, 2}, targets_of({2, 0, 1, -100}, {2, 2})},
          {{1, 3, 2, 2}, targets_of({2, 0, 1, 1}, {1, 2, 2})},
          {{3}, targets_of({1}, {})}};
}

TEST(NllLoss, HasItsDerivatives) {
  for (const Shapes& shapes : all_shapes()) {
    for (Reduction reduction : kReductions) {
      for (const Tensor& weight : {Tensor(), weights()}) {
        check_grid(
            [&](const Inputs& x) {
              return nll_loss(x[0] * x[0], shapes.targets,
                              {.weight = weight, .reduction = reduction});
            },
            {shapes.x});
      }
    }
  }
}

TEST(CrossEntropy, HasItsDerivatives) {
  for (const Shapes& shapes : all_shapes()) {
    for (Reduction reduction : kReductions) {
      for (double smoothing : {0.0, 0.2}) {
        for (const Tensor& weight : {Tensor(), weights()}) {
          check_grid(
              [&](const Inputs& x) {
                return cross_entropy(x[0], shapes.targets,
                                     {.weight = weight,
                                      .reduction = reduction,
                                      .label_smoothing = smoothing});
              },
              {shapes.x});
        }
      }
    }
  }
}

// Losses by their definition, row by row.
std::vector<double> losses_of(const Tensor& x, const Tensor& targets,
                              const Tensor& weight, double smoothing) {
  const std::int64_t classes = x.size(1);
  const auto log_p = values(log_softmax(x, 1));
  const auto w = values(weight);
  std::vector<double> losses;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const auto target = targets.to_vector<std::int64_t>()[std::size_t(i)];
    double loss = 0;
    for (std::int64_t c = 0; target >= 0 && c < classes; ++c) {
      const double wanted = smoothing / static_cast<double>(classes) +
                            (c == target ? 1.0 - smoothing : 0.0);
      loss -= wanted * w[std::size_t(c)] * log_p[std::size_t(i * classes + c)];
    }
    losses.push_back(loss);
  }
  return losses;
}

TEST(CrossEntropy, FollowsItsDefinition) {
  const Tensor x = randn64({4, 3}).detach();
  const Tensor targets = targets_of({2, 0, -100, 1}, {4});
  for (double smoothing : {0.0, 0.3, 1.0}) {
    const auto expected = losses_of(x, targets, weights(), smoothing);
    const CrossEntropyOptions options{.weight = weights(),
                                      .reduction = Reduction::kNone,
                                      .label_smoothing = smoothing};
    const auto got = values(cross_entropy(x, targets, options));
    double total = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 1e-12);
      total += expected[i];
    }
    CrossEntropyOptions mean = options;
    mean.reduction = Reduction::kMean;
    // The weights of classes 2, 0 and 1.
    EXPECT_NEAR(value(cross_entropy(x, targets, mean)), total / 4.0, 1e-12);
  }
}

TEST(CrossEntropy, OfFloatsIsThatOfDoubles) {
  manual_seed(2);
  const Tensor exact = randn64({64, 100});
  Tensor x = exact.detach().to(DType::kF32).set_requires_grad(true);
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < 64; ++i) classes.push_back(i);
  const Tensor targets = targets_of(classes, {64});
  const Tensor loss = cross_entropy(x, targets);
  const Tensor wanted = cross_entropy(exact, targets);
  EXPECT_NEAR(loss.item<float>(), value(wanted), 1e-6);
  loss.backward();
  wanted.backward();
  const auto got = x.grad().to_vector<float>();
  const auto slopes = values(exact.grad());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], slopes[i], 1e-8);
  }
}

TEST(CrossEntropy, SkipsIgnoredTargets) {
  const Tensor none = targets_of({-100, -100}, {2});
  Tensor x = from_vector<float>({NAN, 1, 2, 3}, {2, 2}).set_requires_grad(true);
  EXPECT_TRUE(std::isnan(cross_entropy(x, none).item<float>()));
  EXPECT_EQ(
      cross_entropy(x, none, {.reduction = Reduction::kSum}).item<float>(), 0);
  const Tensor loss =
      cross_entropy(x, targets_of({7, 1}, {2}), {.ignore_index = 7});
  loss.backward();
  EXPECT_EQ(x.grad().to_vector<float>()[0], 0);
  EXPECT_NEAR(loss.item<float>(), std::log(1 + std::exp(-1.0)), 1e-6);
}

TEST(Losses, RefuseZeroClassesEvenOfIgnoredTargets) {
  const Tensor none = targets_of({-100, -100}, {2});
  EXPECT_ERROR(InvalidArgument, "nll_loss: predictions float32[2,0] are of no",
               nll_loss(zeros({2, 0}), none));
  EXPECT_ERROR(InvalidArgument, "cross_entropy: predictions float32[2,0] are",
               cross_entropy(zeros({2, 0}), none));
}

TEST(CrossEntropy, RefusesMismatchedArguments) {
  const Tensor x = ones({2, 3});
  EXPECT_ERROR(InvalidArgument,
               "cross_entropy: target 1 is 3, but there are 3 classes",
               cross_entropy(x, targets_of({0, 3}, {2})));
  EXPECT_ERROR(InvalidArgument, "wanted are [n, classes] and integers [n]",
               cross_entropy(x, targets_of({0, 1, 2}, {3})));
  EXPECT_ERROR(
      InvalidArgument, "for 3 classes",
      cross_entropy(x, targets_of({0, 1}, {2}), {.weight = ones({2})}));
  EXPECT_ERROR(
      InvalidArgument, "label_smoothing is 1.5",
      cross_entropy(x, targets_of({0, 1}, {2}), {.label_smoothing = 1.5}));
}

TEST(SoftCrossEntropy, HasItsDerivatives) {
  for (const Dims& shape : {Dims{4, 3}, Dims{2, 3, 2}, Dims{3}}) {
    for (Reduction reduction : kReductions) {
      for (const Tensor& weight : {Tensor(), weights()}) {
        check_grid(
            [&](const Inputs& x) {
              return cross_entropy(x[0], x[1] * x[1],
                                   {.weight = weight,
                                    .reduction = reduction,
                                    .label_smoothing = 0.2});
            },
            {shape, shape});
      }
    }
  }
}

TEST(SoftCrossEntropy, OfCertaintiesIsThatOfClasses) {
  const Tensor x = randn({4, 3});
  const Tensor certain = constant({0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0}, {4, 3});
  const Tensor classes = targets_of({2, 0, 2, 1}, {4});
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Tensor soft = cross_entropy(x.to(dtype), certain);
    EXPECT_EQ(soft.dtype(), dtype);
    EXPECT_NEAR(
        soft.to(DType::kF64).item<double>(),
        cross_entropy(x.to(dtype), classes).to(DType::kF64).item<double>(),
        1e-6);
  }
  EXPECT_TRUE(
      std::isnan(cross_entropy(zeros({0, 3}), zeros({0, 3})).item<float>()));
}

TEST(SoftCrossEntropy, RefusesMismatchedArguments) {
  const Tensor x = zeros({4, 3});
  EXPECT_THROW(cross_entropy(x, zeros({4})), InvalidArgument);
  EXPECT_THROW(cross_entropy(zeros({}), zeros({})), InvalidArgument);
  EXPECT_THROW(cross_entropy(x, x, {.ignore_index = 1}), InvalidArgument);
  EXPECT_THROW(cross_entropy(x, x, {.weight = zeros({2})}), InvalidArgument);
  EXPECT_THROW(cross_entropy(Tensor(), x), InvalidArgument);
}

TEST(MseLoss, HasItsDerivatives) {
  for (Reduction reduction : kReductions) {
    const auto run = [reduction](const Inputs& x) {
      return mse_loss(x[0], x[1], reduction);
    };
    check_grid(run, {{2, 3}, {2, 3}});
    check_grid(run, {{2, 3}, {3}});
  }
  EXPECT_EQ(mse_loss(ones({2, 2}), full({2, 2}, 3)).item<float>(), 4);
  EXPECT_EQ(
      mse_loss(ones({2, 2}), full({2, 2}, 3), Reduction::kSum).item<float>(),
      16);
}

TEST(NllLoss, RefusesWeightsThatWouldGetNoGradient) {
  const Tensor x = zeros({4, 3}, {.requires_grad = true});
  const Tensor targets = targets_of({2, 0, 1, 1}, {4});
  const Tensor weight = ones({3}, {.requires_grad = true});
  EXPECT_THROW(nll_loss(x, targets, {.weight = weight}),
               autograd::NotDifferentiableError);
  EXPECT_THROW(cross_entropy(x, targets, {.weight = weight}),
               autograd::NotDifferentiableError);
  cross_entropy(x, targets, {.weight = weight.detach()}).backward();
  // With probabilities as targets, class weights have gradients.
  cross_entropy(x, ones({4, 3}), {.weight = weight}).backward();
  EXPECT_TRUE(weight.grad().defined());
  NoGrad no_grad;
  EXPECT_NO_THROW(nll_loss(x, targets, {.weight = weight}));
}

}  // namespace
}  // namespace hvd
