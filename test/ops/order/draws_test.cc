// SPDX-License-Identifier: Apache-2.0
// Draws: ranges, medians of the distributions, recomputation, refusals.
#include "horovodpp/ops/order/draws.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

constexpr std::int64_t kDraws = 20000;

template <typename Fill>
std::vector<double> sorted_draws(Fill fill) {
  manual_seed(3);
  const Tensor x = zeros({kDraws}, {.dtype = DType::kF64});
  fill(x);
  std::vector<double> drawn = x.to_vector<double>();
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

double quarter_of(const std::vector<double>& sorted, std::size_t quarter) {
  return sorted[sorted.size() * quarter / 4];
}

TEST(Draws, HaveTheQuartilesOfTheirDistributions) {
  const auto waits =
      sorted_draws([](auto& x) { autograd::exponential_(x, 2); });
  EXPECT_GE(waits.front(), 0);
  EXPECT_NEAR(quarter_of(waits, 2), std::numbers::ln2 / 2, 0.02);
  EXPECT_NEAR(quarter_of(waits, 1), std::log(4.0 / 3) / 2, 0.01);
  const auto logs =
      sorted_draws([](auto& x) { autograd::log_normal_(x, 1, 0.5); });
  EXPECT_NEAR(std::log(quarter_of(logs, 2)), 1, 0.03);
  EXPECT_NEAR(std::log(quarter_of(logs, 3)), 1 + 0.6745 * 0.5, 0.03);
  const auto wide = sorted_draws([](auto& x) { autograd::cauchy_(x, 2, 3); });
  EXPECT_NEAR(quarter_of(wide, 2), 2, 0.15);
  EXPECT_NEAR(quarter_of(wide, 3), 5, 0.3);
  const auto trials =
      sorted_draws([](auto& x) { autograd::geometric_(x, 0.5); });
  EXPECT_EQ(trials.front(), 1);
  const auto ones = std::count(trials.begin(), trials.end(), 1.0);
  EXPECT_NEAR(static_cast<double>(ones) / kDraws, 0.5, 0.02);
}

TEST(Draws, OfIntegersStayWithinTheirRange) {
  manual_seed(4);
  const Tensor dice = randint(1, 7, {6000});
  EXPECT_EQ(dice.dtype(), DType::kI64);
  std::vector<int> counts(7);
  for (const std::int64_t pips : dice.to_vector<std::int64_t>()) {
    ASSERT_TRUE(pips >= 1 && pips <= 6);
    ++counts[static_cast<std::size_t>(pips)];
  }
  for (std::size_t i = 1; i < 7; ++i) EXPECT_NEAR(counts[i], 1000, 150);
  EXPECT_EQ(randint(-3, -2, {2, 0}).num_elements(), 0);
  EXPECT_EQ(randint(5, 6, {}, {.dtype = DType::kU8}).item<std::uint8_t>(), 5);
}

TEST(Draws, AreRepeatedByARecomputation) {
  const auto noisy = [](const Tensor& x) {
    const Tensor waits = zeros(x.shape());
    autograd::exponential_(waits);
    const Tensor picked = to(randint(0, 9, x.shape()), DType::kF32);
    return x * x * waits * picked;
  };
  std::vector<std::vector<float>> gradients;
  for (const bool recomputed : {false, true}) {
    manual_seed(9);
    const Tensor x = full({16}, 2.0, {.requires_grad = true});
    const Tensor y = recomputed ? checkpoint(noisy, x) : noisy(x);
    y.sum().backward();
    gradients.push_back(x.grad().to_vector<float>());
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(Draws, RefuseParametersDtypesAndLeaves) {
  const Tensor x = zeros({2}), n = arange(0, 2);
  EXPECT_THROW(autograd::exponential_(x, 0), InvalidArgument);
  EXPECT_THROW(autograd::exponential_(n), InvalidArgument);
  EXPECT_THROW(autograd::log_normal_(n), InvalidArgument);
  EXPECT_THROW(autograd::log_normal_(x, 0, -1), InvalidArgument);
  EXPECT_THROW(autograd::cauchy_(x, 0, 0), InvalidArgument);
  EXPECT_THROW(autograd::geometric_(x, 1), InvalidArgument);
  EXPECT_THROW(randint(3, 3, {2}), InvalidArgument);
  EXPECT_THROW(randint(0, 300, {2}, {.dtype = DType::kU8}), InvalidArgument);
  const Tensor leaf = zeros({2}, {.requires_grad = true});
  EXPECT_THROW(autograd::cauchy_(leaf), autograd::LeafInplaceError);
  autograd::geometric_(n, 0.5);
  EXPECT_GE(n.to_vector<std::int64_t>()[0], 1);
}

}  // namespace
}  // namespace hvd
