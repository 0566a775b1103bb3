// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"

namespace hvd::nn::init {
namespace {

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

Moments moments_of(const Tensor& tensor) {
  const auto values = tensor.to(DType::kF64).to_vector<double>();
  const auto n = static_cast<double>(values.size());
  Moments m;
  for (const double x : values) m.mean += x / n;
  for (const double x : values) {
    m.deviation += (x - m.mean) * (x - m.mean) / n;
  }
  m.deviation = std::sqrt(m.deviation);
  m.low = *std::min_element(values.begin(), values.end());
  m.high = *std::max_element(values.begin(), values.end());
  return m;
}

// Large enough for moments within 2 %.
Tensor weight(DType dtype = DType::kF32) {
  return zeros({200, 50, 5}, {.dtype = dtype}).set_requires_grad(true);
}

TEST(Init, FillsInPlaceUnrecorded) {
  const Tensor w = weight();
  EXPECT_TRUE(constant_(w, 3.0).is_same(w));
  EXPECT_TRUE(w.is_leaf());
  EXPECT_TRUE(w.requires_grad());
  EXPECT_EQ(moments_of(w).low, 3.0);
  EXPECT_EQ(moments_of(zeros_(w)).high, 0.0);
  EXPECT_EQ(moments_of(ones_(w)).high, 1.0);
}

TEST(Init, DrawsFromTheDistributionOfItsName) {
  manual_seed(3);
  for (const DType dtype :
       {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    Moments m = moments_of(init::uniform_(weight(dtype), -1, 3));
    EXPECT_NEAR(m.mean, 1.0, 0.03);
    EXPECT_NEAR(m.deviation, 4 / std::sqrt(12.0), 0.03);
    EXPECT_GE(m.low, -1.0);
    EXPECT_LE(m.high, 3.0);
    m = moments_of(init::normal_(weight(dtype), 2, 0.5));
    EXPECT_NEAR(m.mean, 2.0, 0.02);
    EXPECT_NEAR(m.deviation, 0.5, 0.01);
  }
}

TEST(Init, TruncatesANormalDistribution) {
  manual_seed(4);
  Moments m = moments_of(trunc_normal_(weight(DType::kF64)));
  EXPECT_NEAR(m.mean, 0.0, 0.02);
  EXPECT_NEAR(m.deviation, 0.8796, 0.01);  // Of N(0,1) truncated at ±2.
  EXPECT_GE(m.low, -2.0);
  EXPECT_LT(m.low, -1.9);
  EXPECT_LE(m.high, 2.0);
  m = moments_of(trunc_normal_(
      weight(), {.mean = 1, .deviation = 0.1, .low = 1, .high = 9}));
  EXPECT_NEAR(m.mean, 1 + 0.1 * std::sqrt(2 / std::numbers::pi),
              0.002);  // Half a normal.
  EXPECT_GE(m.low, 1.0);
}

TEST(Init, CountsInputsAndOutputs) {
  EXPECT_EQ(fans_of(weight()).in, 250);
  EXPECT_EQ(fans_of(weight()).out, 1000);
  EXPECT_THROW(fans_of(ones({3})), InvalidArgument);
  EXPECT_THROW(xavier_normal_(ones({3})), InvalidArgument);
}

TEST(Init, KeepsTheVarianceOfSignals) {
  manual_seed(5);
  const auto deviation = [](const Tensor& t) {
    return moments_of(t).deviation;
  };
  const double xavier = std::sqrt(2.0 / 1250.0);
  EXPECT_NEAR(deviation(xavier_uniform_(weight(), 2)), 2 * xavier, 0.002);
  EXPECT_NEAR(deviation(xavier_normal_(weight())), xavier, 0.001);
  const double kaiming = std::sqrt(2.0 / 250.0);
  EXPECT_NEAR(deviation(kaiming_uniform_(weight())), kaiming, 0.002);
  EXPECT_NEAR(deviation(kaiming_normal_(weight(),
                                        {.mode = FanMode::kFanOut,
                                         .nonlinearity = Nonlinearity::kRelu})),
              std::sqrt(2.0 / 1000.0), 0.001);
  // With sqrt 5: the bound of Linear.
  const Moments m = moments_of(
      kaiming_uniform_(weight(), {.negative_slope = std::sqrt(5.0)}));
  EXPECT_NEAR(m.high, kaiming_uniform_bound(250), 1e-4);
}

TEST(Init, KnowsTheGainOfNonlinearities) {
  EXPECT_EQ(calculate_gain(Nonlinearity::kLinear), 1.0);
  EXPECT_EQ(calculate_gain(Nonlinearity::kSigmoid), 1.0);
  EXPECT_EQ(calculate_gain(Nonlinearity::kTanh), 5.0 / 3);
  EXPECT_EQ(calculate_gain(Nonlinearity::kRelu), std::sqrt(2.0));
  EXPECT_EQ(calculate_gain(Nonlinearity::kLeakyRelu, 1.0), 1.0);
  EXPECT_EQ(calculate_gain(Nonlinearity::kSelu), 0.75);
}

TEST(Init, RefusesInvalidArguments) {
  EXPECT_THROW(init::uniform_(weight(), 1, 0), InvalidArgument);
  EXPECT_THROW(init::normal_(weight(), 0, -1), InvalidArgument);
  EXPECT_THROW(trunc_normal_(weight(), {.deviation = 0}), InvalidArgument);
  EXPECT_THROW(trunc_normal_(weight(), {.low = 2}), InvalidArgument);
  const Tensor integers = zeros({2, 2}, {.dtype = DType::kI64});
  EXPECT_THROW(init::uniform_(integers), InvalidArgument);
  EXPECT_THROW(init::normal_(integers), InvalidArgument);
  EXPECT_THROW(trunc_normal_(integers), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn::init
