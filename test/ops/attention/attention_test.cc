// SPDX-License-Identifier: Apache-2.0
// Attention: compares the blocked computation with matmul and softmax.
#include "horovodpp/ops/attention/attention.h"

#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::Each;

Tensor attend(const Inputs& x, const AttentionOptions& options) {
  return scaled_dot_product_attention(x[0], x[1], x[2], options);
}

void check_options(const AttentionOptions& options,
                   const std::vector<Dims>& shapes) {
  check_grid([&](const Inputs& x) { return attend(x, options); }, shapes);
}

TEST(Attention, HasItsDerivatives) {
  check_options({}, {{3, 2}, {4, 2}, {4, 3}});
  check_options({.scale = 0.7}, {{2, 2, 3, 2}, {2, 2, 2, 2}, {2, 2, 2, 3}});
  check_options({.is_causal = true}, {{2, 3, 2}, {2, 3, 2}, {2, 3, 2}});
  check_options({.is_causal = true}, {{4, 2}, {2, 2}, {2, 2}});
  check_options({.is_causal = true}, {{2, 2}, {4, 2}, {4, 2}});
  // All heads share keys and values.
  check_options({}, {{2, 3, 2}, {1, 3, 2}, {3, 2}});
}

TEST(Attention, HasSecondDerivativesAfterAnOperandWasFrozen) {
  Inputs x{randn64({3, 2}), randn64({4, 2}), randn64({4, 3})};
  const Tensor y = attend(x, {});
  x[2].set_requires_grad(false);
  const Tensor slope =
      autograd::grad({y.sum()}, {x[0]}, {}, {.create_graph = true})[0];
  slope.sum().backward();
  EXPECT_TRUE(x[1].grad().defined());
  EXPECT_FALSE(x[2].grad().defined());
}

TEST(Attention, HasItsDerivativesUnderMasks) {
  const Tensor allowed =
      from_vector<bool>({true, false, true, false, false, false}, {2, 3});
  check_options({.mask = allowed}, {{2, 2, 2}, {2, 3, 2}, {2, 3, 2}});
  const Tensor added = randn64({2, 1, 3}).detach();
  check_options({.mask = added}, {{2, 2, 2}, {2, 3, 2}, {2, 3, 2}});
  check_grid([](const Inputs& x) { return attend(x, {.mask = x[3]}); },
             {{2, 2}, {3, 2}, {3, 2}, {2, 3}});
}

TEST(Attention, HasItsDerivativesUnderDropout) {
  const auto run = [](const Inputs& x) {
    manual_seed(6);
    return attend(x, {.dropout_p = 0.3});
  };
  check_grid(run, {{2, 3, 2}, {2, 4, 2}, {2, 4, 2}});
}

struct Sizes {
  std::int64_t queries, keys;
};

// More queries than a block holds; many keys, and few.
TEST(Attention, OfFloatsIsSoftmaxTimesValues) {
  for (const Sizes& sizes : {Sizes{150, 150}, Sizes{130, 700}, Sizes{150, 90},
                             Sizes{90, 120}, Sizes{5, 1}}) {
    for (const bool causal : {false, true}) {
      manual_seed(4);
      const auto make = [](std::int64_t rows) {
        return randn({2, rows, 3, 16}).permute({0, 2, 1, 3});
      };
      Tensor q = make(sizes.queries).detach().set_requires_grad(true);
      Tensor k = make(sizes.keys).detach().set_requires_grad(true);
      Tensor v = make(sizes.keys).detach().set_requires_grad(true);
      const Tensor y =
          scaled_dot_product_attention(q, k, v, {.is_causal = causal});
      Tensor scores = matmul(q, k.transpose(2, 3)) * 0.25;
      if (causal) {
        const Tensor row = arange(0, double(sizes.queries)).unsqueeze(1);
        scores = masked_fill(scores, lt(row, arange(0, double(sizes.keys))),
                             -INFINITY);
      }
      const Tensor wanted = matmul(softmax(scores, -1), v);
      const Tensor seed = randn(y.shape());
      const auto got = autograd::grad({y}, {q, k, v}, {seed});
      const auto slopes = autograd::grad({wanted}, {q, k, v}, {seed});
      EXPECT_LT(max(abs(y - wanted)).item<float>(), 1e-5f);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_LT(max(abs(got[i] - slopes[i])).item<float>(), 2e-5f) << i;
      }
    }
  }
}

// With an identity as values, dropped weights show.
TEST(Attention, DropsTheSameWeightsInBothDirections) {
  for (const std::int64_t keys : {100, 200}) {
    manual_seed(4);
    Tensor q = randn({2, 150, 8}).set_requires_grad(true);
    Tensor k = randn({2, keys, 8}).set_requires_grad(true);
    const Tensor index = arange(0, double(keys));
    Tensor v = eq(index.unsqueeze(1), index).to(DType::kF32);
    v.set_requires_grad(true);
    const Tensor y = scaled_dot_product_attention(
        q, k, v.expand({2, keys, keys}), {.dropout_p = 0.25});
    const Tensor kept = gt(y.detach(), 0.0).to(DType::kF32);
    EXPECT_NEAR(kept.mean().item<float>(), 0.75, 0.02);
    const Tensor scores = matmul(q, k.transpose(1, 2)) * (1 / std::sqrt(8.0));
    const Tensor wanted = matmul(softmax(scores, -1) * kept / 0.75, v);
    const Tensor seed = randn(y.shape());
    const auto got = autograd::grad({y}, {q, k, v}, {seed});
    const auto slopes = autograd::grad({wanted}, {q, k, v}, {seed});
    EXPECT_LT(max(abs(y - wanted)).item<float>(), 1e-5f);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_LT(max(abs(got[i] - slopes[i])).item<float>(), 2e-5f) << i;
    }
  }
}

TEST(Attention, GivesZerosToAQueryWithoutKeys) {
  const Tensor mask = zeros({2, 3}, {.dtype = DType::kBool});
  Tensor q = ones({2, 4}, {.requires_grad = true});
  const Tensor y = scaled_dot_product_attention(q, ones({3, 4}), ones({3, 4}),
                                                {.mask = mask});
  EXPECT_THAT(y.to_vector<float>(), Each(0.0f));
  y.sum().backward();
  EXPECT_THAT(q.grad().to_vector<float>(), Each(0.0f));
  EXPECT_THAT(
      scaled_dot_product_attention(ones({2, 4}), ones({0, 4}), ones({0, 4}))
          .to_vector<float>(),
      Each(0.0f));
}

TEST(Attention, KeepsNanIfTheMaskHasAGradient) {
  const Tensor q = from_vector<float>({NAN, 0, 0, 0}, {1, 2, 2});
  const Tensor k = ones({1, 2, 2});
  const Tensor mask = zeros({2, 2}, {.requires_grad = true});
  for (const Tensor& added : {mask, mask.detach()}) {
    const auto y = scaled_dot_product_attention(q, k, k, {.mask = added})
                       .to_vector<float>();
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[2], 1);
  }
}

TEST(Attention, OfHalvesIsComputedInFloat) {
  Tensor q = ones({2, 4}, {.dtype = DType::kBF16, .requires_grad = true});
  const Tensor y = scaled_dot_product_attention(q, q, q);
  EXPECT_EQ(y.dtype(), DType::kBF16);
  y.sum().backward();
  EXPECT_EQ(q.grad().dtype(), DType::kBF16);
}

TEST(Attention, OfHalvesWithAMaskThatHasAGradientIsComputedInFloat) {
  manual_seed(5);
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const auto halves = [&](const Dims& sizes) {
      return to(randn(sizes) * 2.0, dtype).set_requires_grad(true);
    };
    const Tensor q = halves({5, 8}), k = halves({7, 8}), v = halves({7, 3});
    const Tensor mask = halves({5, 7});
    const auto run = [&](const std::vector<Tensor>& x) {
      const Tensor y =
          scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3]});
      auto all = autograd::grad({y.sum()}, x);
      all.push_back(y);
      return all;
    };
    std::vector<Tensor> wide;
    for (const Tensor& x : {q, k, v, mask}) {
      wide.push_back(to(x.detach(), DType::kF32).set_requires_grad(true));
    }
    const auto got = run({q, k, v, mask}), wanted = run(wide);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(values(to(got[i], DType::kF64)),
                values(to(to(wanted[i], dtype), DType::kF64)))
          << i;
    }
    Autocast scope(DType::kBF16);
    EXPECT_NO_THROW(run(wide));
  }
}

TEST(Attention, RefusesMismatchedArguments) {
  const Tensor x = ones({2, 4});
  EXPECT_ERROR(InvalidArgument, "do not go together",
               scaled_dot_product_attention(x, ones({2, 3}), x));
  EXPECT_ERROR(InvalidArgument, "do not go together",
               scaled_dot_product_attention(x, x, ones({3, 4})));
  EXPECT_ERROR(
      InvalidArgument, "a mask and is_causal",
      scaled_dot_product_attention(x, x, x, {.mask = x, .is_causal = true}));
  EXPECT_ERROR(InvalidArgument, "dropout_p is 2",
               scaled_dot_product_attention(x, x, x, {.dropout_p = 2}));
}

}  // namespace
}  // namespace hvd
