// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/data/augment/draws.h"
#include "horovodpp/tensor/factories.h"
#include "test/support/expect_error.h"

namespace hvd::data::augment {
namespace {

using autograd::Dims;
using autograd::Generator;

// Image i is i everywhere, of class i.
std::vector<Tensor> constant_images(std::int64_t n, DType dtype) {
  std::vector<Tensor> images;
  for (std::int64_t i = 0; i < n; ++i) {
    images.push_back(full({2, 8, 6}, static_cast<double>(i), {.dtype = dtype}));
  }
  return {stack(images), arange(0, static_cast<double>(n))};
}

TEST(Beta, HasItsMoments) {
  Generator random(5);
  for (const double alpha : {0.2, 1.0, 3.0}) {
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double draw = draw_beta(random, alpha);
      ASSERT_GE(draw, 0);
      ASSERT_LE(draw, 1);
      sum += draw;
      squares += (draw - 0.5) * (draw - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.02);
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * alpha + 1)), 0.01);
  }
  EXPECT_TRUE(std::isfinite(draw_beta(random, 1e-4)));
}

TEST(Mixup, MixesImagesAndLabelsInOneRatio) {
  const auto batch = constant_images(3, DType::kF32);
  Generator random(3);
  const auto mixed = mixup({.num_classes = 4})(batch, random);
  const auto labels = mixed[1].to_vector<float>();
  ASSERT_EQ(mixed[1].shape(), (Dims{3, 4}));
  ASSERT_EQ(mixed[0].shape(), batch[0].shape());
  const float share = labels[0];  // Of image 0 in itself; the rest is image 2.
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 1);
  EXPECT_NEAR(labels[2], 1 - share, 1e-6);
  EXPECT_NEAR(labels[4], 1 - share, 1e-6);
  const auto values = mixed[0].to_vector<float>();
  EXPECT_NEAR(values[0], 2 * (1 - share), 1e-6);
  EXPECT_NEAR(values[2 * 96 + 5], 2 * share + 1 * (1 - share), 1e-6);
  EXPECT_EQ(batch[0].to_vector<float>()[0], 0);  // Unchanged.
}

TEST(Cutmix, LabelsAreTheSharesOfPixels) {
  const auto batch = constant_images(3, DType::kU8);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Generator random(seed);
    const auto mixed = cutmix({.num_classes = 3})(batch, random);
    const auto labels = mixed[1].to_vector<float>();
    const auto pixels = mixed[0].to_vector<std::uint8_t>();
    const auto own = std::count(pixels.begin() + 96, pixels.begin() + 192, 1);
    ASSERT_NEAR(labels[4], static_cast<double>(own) / 96, 1e-6);
    ASSERT_NEAR(labels[3], 1 - labels[4], 1e-6);
  }
}

TEST(Mixes, RefuseOtherBatches) {
  Generator random(1);
  const auto bytes = constant_images(2, DType::kU8);
  EXPECT_ERROR(InvalidArgument, "apply to_float() first",
               mixup({.num_classes = 2})(bytes, random));
  EXPECT_ERROR(InvalidArgument, "the label 1 is none of 1 classes",
               cutmix({.num_classes = 1})(bytes, random));
  EXPECT_ERROR(InvalidArgument, "a batch is images",
               cutmix({.num_classes = 2})({bytes[0], bytes[0]}, random));
  EXPECT_ERROR(InvalidArgument, "a batch is images",
               cutmix({.num_classes = 2})({}, random));
  EXPECT_ERROR(InvalidArgument, "must be positive", mixup({}));
}

}  // namespace
}  // namespace hvd::data::augment
