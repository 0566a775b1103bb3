// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/dropout.h"

#include <algorithm>
#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::Each;

TEST(Dropout, HasItsDerivatives) {
  const auto run = [](const Inputs& x) {
    manual_seed(3);
    return dropout(x[0] * x[0], 0.4);
  };
  for (const Dims& shape : {Dims({3}), Dims({2, 3, 4}), Dims({70, 2})}) {
    check_grid(run, {shape});
  }
  check_grid(
      [](const Inputs& x) {
        manual_seed(4);
        return drop_path(x[0] * x[0], 0.5);
      },
      {{4, 3}});
}

TEST(Dropout, KeepsItsShareAndItsMean) {
  manual_seed(1);
  for (double p : {0.1, 0.5, 0.9}) {
    const Tensor y = dropout(ones({100000}), p);
    const auto all = y.to_vector<float>();
    const auto zeros = std::count(all.begin(), all.end(), 0.0f);
    EXPECT_NEAR(static_cast<double>(zeros) / 1e5, p, 0.01);
    const auto scale = static_cast<float>(1.0 / (1.0 - p));
    for (float x : all) EXPECT_TRUE(x == 0 || x == scale);
  }
}

TEST(Dropout, DrawsTheSameAfterTheSameSeedInEveryDtype) {
  const auto kept = [](DType dtype, std::int64_t n) {
    manual_seed(9);
    const Tensor y = dropout(ones({n}, {.dtype = dtype}), 0.5);
    return ne(y, 0.0).to_vector<bool>();
  };
  for (std::int64_t n : {1, 63, 64, 65, 1000}) {
    const auto wanted = kept(DType::kF32, n);
    EXPECT_EQ(kept(DType::kF64, n), wanted);
    EXPECT_EQ(kept(DType::kBF16, n), wanted);
    EXPECT_EQ(kept(DType::kF16, n), wanted);
  }
  manual_seed(9);
  const Tensor first = dropout(ones({64}), 0.5);
  const Tensor second = dropout(ones({64}), 0.5);
  EXPECT_NE(first.to_vector<float>(), second.to_vector<float>());
}

// Philox defines the mask, not the vector width.
TEST(Dropout, IsAFunctionOfTheGenerator) {
  autograd::Generator generator(42);
  const autograd::DropoutMask mask(generator, 130, 0.25);
  std::vector<float> x(130, 1.0f);
  mask.apply(x.data(), x.data(), 0, 130);
  for (std::uint32_t i = 0; i < 130; ++i) {
    const std::uint32_t block = 16 * (i / 64) + i % 16;
    const auto words = autograd::philox({block, 0, 0, 0}, {42, 0});
    const bool kept = words[i % 64 / 16] < 0xC0000000u;
    EXPECT_EQ(x[i] != 0, kept) << i;
  }
  EXPECT_EQ(generator.state().offset, 48u);
  std::vector<float> tail(66, 1.0f);
  mask.apply(tail.data(), tail.data(), 64, 66);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), x.begin() + 64));
}

TEST(Dropout, SavesNoTensorForBackward) {
  Tensor x = ones({1000}, {.requires_grad = true});
  const auto before = autograd::saved_tensor_bytes();
  const Tensor y = dropout(x, 0.5);
  EXPECT_EQ(autograd::saved_tensor_bytes(), before);
  y.sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), y.to_vector<float>());
}

TEST(Dropout, HandlesZeroOneAndEvaluation) {
  const Tensor x = ones({100});
  EXPECT_TRUE(dropout(x, 0.0).is_same(x));
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
  const Tensor none = ones({0, 2});
  EXPECT_TRUE(dropout(none, 1.0).is_same(none));
  EXPECT_TRUE(drop_path(x, 0.5, false).is_same(x));
  EXPECT_THAT(dropout(x, 1.0).to_vector<float>(), Each(0.0f));
  EXPECT_ERROR(InvalidArgument, "1.5 is no probability", dropout(x, 1.5));
  EXPECT_ERROR(InvalidArgument, "no probability", dropout(x, NAN));
}

TEST(DropPath, DropsWholeSamples) {
  manual_seed(8);
  const Tensor y = drop_path(ones({50, 3}), 0.5);
  for (const Tensor& row : y.unbind(0)) {
    const auto sample = row.to_vector<float>();
    EXPECT_THAT(sample, Each(sample[0]));
  }
}

TEST(Fills, WriteInPlace) {
  manual_seed(1);
  const Tensor x = zeros({1000});
  autograd::uniform_(x, 2.0, 3.0);
  for (float v : x.to_vector<float>()) EXPECT_TRUE(v >= 2 && v <= 3);
  autograd::normal_(x, 5.0, 0.1);
  EXPECT_NEAR(x.mean().item<float>(), 5, 0.05);
  autograd::bernoulli_(x, 0.5);
  EXPECT_NEAR(x.mean().item<float>(), 0.5, 0.1);
  EXPECT_EQ(x.version(), 3u);
  Tensor leaf = zeros({2}, {.requires_grad = true});
  NoGrad no_grad;
  autograd::normal_(leaf);
  EXPECT_TRUE(leaf.is_leaf());
}

// Old values of the tensor get no gradient.
TEST(Fills, PassNoGradient) {
  using Fill = std::function<void(const Tensor&)>;
  for (const Fill& fill :
       {Fill([](const Tensor& x) { autograd::uniform_(x); }),
        Fill([](const Tensor& x) { autograd::normal_(x); }),
        Fill([](const Tensor& x) { autograd::bernoulli_(x); })}) {
    const Tensor leaf = zeros({2, 2}, {.requires_grad = true});
    EXPECT_THROW(fill(leaf), autograd::LeafInplaceError);
    const Tensor x = leaf * 3.0;
    fill(x.select(0, 0));
    x.sum().backward();
    EXPECT_EQ(leaf.grad().to_vector<float>(), (std::vector<float>{0, 0, 3, 3}));
  }
}

}  // namespace
}  // namespace hvd
