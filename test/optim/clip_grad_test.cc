// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/clip_grad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"

namespace hvd::optim {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor with_grad(const std::vector<float>& values, DType dtype = DType::kF32) {
  const auto n = static_cast<std::int64_t>(values.size());
  Tensor t = zeros({n}, {.dtype = dtype}).set_requires_grad(true);
  t.set_grad(from_vector(values, {n}).to(dtype));
  return t;
}

TEST(ClipGradNorm, ScalesAllGradientsAlike) {
  const Tensor a = with_grad({3, 0}), b = with_grad({4});
  const Tensor none = ones({1}, {.requires_grad = true});
  EXPECT_DOUBLE_EQ(clip_grad_norm_({a, none, b}, 1.0), 5.0);
  EXPECT_THAT(a.grad().to_vector<float>(),
              ElementsAre(FloatNear(0.6f, 1e-6f), 0));
  EXPECT_THAT(b.grad().to_vector<float>(), ElementsAre(FloatNear(0.8f, 1e-6f)));
  EXPECT_FALSE(none.grad().defined());
}

TEST(ClipGradNorm, LeavesSmallGradientsAlone) {
  const Tensor a = with_grad({3, 4});
  EXPECT_DOUBLE_EQ(clip_grad_norm_({a}, 10.0), 5.0);
  EXPECT_THAT(a.grad().to_vector<float>(), ElementsAre(3, 4));
  EXPECT_EQ(clip_grad_norm_({}, 1.0), 0.0);
}

// Addresses of gradients differ from rank to rank and from run to run. A sum in
// their order would make the ranks' weights differ.
TEST(ClipGradNorm, AddsInTheOrderOfTheParameters) {
  const double tiny = std::ldexp(1.0, -53);  // 1 + tiny is 1.
  std::vector<Tensor> places(4);
  for (Tensor& tensor : places) {
    tensor = zeros({1}, {.dtype = DType::kF64, .requires_grad = true});
    tensor.set_grad(zeros({1}, {.dtype = DType::kF64}));
  }
  for (std::size_t shift = 0; shift < places.size(); ++shift) {
    std::vector<Tensor> parameters;
    for (std::size_t i = 0; i < places.size(); ++i) {
      parameters.push_back(places[(i + shift) % places.size()]);
      parameters.back().grad().fill_(i == 0 ? 1.0 : tiny);
    }
    EXPECT_EQ(clip_grad_norm_(parameters, 10.0, {.norm_type = 1}), 1.0);
  }
}

TEST(ClipGradNorm, KnowsOtherNorms) {
  const Tensor a = with_grad({-3, 4});
  EXPECT_DOUBLE_EQ(clip_grad_norm_({a}, 100, {.norm_type = 1}), 7.0);
  EXPECT_DOUBLE_EQ(clip_grad_norm_({a}, 100, {.norm_type = kInf}), 4.0);
  EXPECT_NEAR(clip_grad_norm_({a}, 100, {.norm_type = 3}), std::cbrt(91.0),
              1e-12);
}

// More elements than a vector, a block of sums and a block of halves.
TEST(ClipGradNorm, AddsUpGradientsOfAnyTypeSizeAndLayout) {
  for (const DType dtype :
       {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (const std::int64_t n : {1, 15, 16, 17, 4097, 8203}) {
      Tensor t = zeros({2, n}, {.dtype = dtype}).t().set_requires_grad(true);
      t = t.detach().set_requires_grad(true);
      t.set_grad(full({2, n}, 0.5, {.dtype = dtype}).t());
      const double norm = std::sqrt(0.25 * 2.0 * static_cast<double>(n));
      ASSERT_NEAR(clip_grad_norm_({t}, norm / 2), norm, norm * 1e-12);
      const auto halves = t.grad().to(DType::kF32).to_vector<float>();
      for (const float x : halves) ASSERT_NEAR(x, 0.25f, 2e-3f);
      ASSERT_EQ(halves.size(), static_cast<std::size_t>(2 * n));
    }
  }
}

TEST(ClipGradNorm, CountsASharedGradientOnce) {
  const Tensor a = with_grad({3, 4});
  Tensor b = zeros({2}, {.requires_grad = true});
  b.set_grad(a.grad());
  EXPECT_DOUBLE_EQ(clip_grad_norm_({a, b, a}, 2.5), 5.0);
  EXPECT_NEAR(a.grad().to_vector<float>()[0], 1.5f, 1e-5f);
}

TEST(ClipGradNorm, IsAnErrorForInfinitiesIfAsked) {
  for (const float bad : {kInf, kNan}) {
    const Tensor a = with_grad({bad, 1});
    EXPECT_THROW(clip_grad_norm_({a}, 1, {.error_if_nonfinite = true}), Error);
    EXPECT_EQ(a.grad().to_vector<float>()[1], 1);
    EXPECT_FALSE(std::isfinite(clip_grad_norm_({a}, 1)));
    // As in PyTorch: x / inf is 0, and NaN spreads.
    const float rest = a.grad().to_vector<float>()[1];
    EXPECT_TRUE(std::isnan(bad) ? std::isnan(rest) : rest == 0);
    EXPECT_FALSE(std::isfinite(
        clip_grad_norm_({with_grad({1, bad, 2})}, 1, {.norm_type = kInf})));
  }
}

TEST(ClipGrad, RefusesInvalidBounds) {
  EXPECT_THROW(clip_grad_norm_({}, -1), InvalidArgument);
  EXPECT_THROW(clip_grad_norm_({}, 1, {.norm_type = 0}), InvalidArgument);
  EXPECT_THROW(clip_grad_value_({}, -1), InvalidArgument);
}

TEST(ClipGradValue, ClampsEveryElement) {
  for (const DType dtype : {DType::kBF16, DType::kF32, DType::kF64}) {
    const Tensor a = with_grad({-3, 0.25, 7}, dtype);
    clip_grad_value_({a}, 0.5);
    EXPECT_THAT(a.grad().to(DType::kF32).to_vector<float>(),
                ElementsAre(-0.5, 0.25, 0.5));
  }
  const Tensor a = with_grad({kNan});
  clip_grad_value_({a}, 1);
  EXPECT_TRUE(std::isnan(a.grad().item<float>()));
}

}  // namespace
}  // namespace hvd::optim
