// SPDX-License-Identifier: Apache-2.0
// Attention with groups of heads, windows, offsets and packed sequences.
#include "horovodpp/ops/attention/visible_keys.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using autograd::KeyRange;
using autograd::VisibleKeys;

void check_visible(const AttentionOptions& options,
                   const std::vector<Dims>& shapes) {
  check_grid(
      [&](const Inputs& x) {
        return scaled_dot_product_attention(x[0], x[1], x[2], options);
      },
      shapes);
}

TEST(VisibleKeys, AreARange) {
  const auto range = [](const VisibleKeys& keys, std::int64_t query) {
    const KeyRange found = keys.of(query, 10);
    return std::vector<std::int64_t>{found.begin, found.end};
  };
  using testing::ElementsAre;
  EXPECT_THAT(range({}, 3), ElementsAre(0, 10));
  EXPECT_THAT(range({.is_causal = true}, 3), ElementsAre(0, 4));
  EXPECT_THAT(range({.is_causal = true, .window = 2}, 3), ElementsAre(2, 4));
  EXPECT_THAT(range({.is_causal = true, .window = 2, .query_offset = 5}, 3),
              ElementsAre(7, 9));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(range({.is_causal = true, .window = huge}, 3), ElementsAre(0, 4));
  EXPECT_THAT(range({.is_causal = true, .window = 2, .query_offset = huge}, 3),
              ElementsAre(10, 10));
  EXPECT_THAT(range({.bounds = {0, 2, 2, 10}}, 1), ElementsAre(0, 2));
  EXPECT_THAT(range({.is_causal = true, .bounds = {0, 2, 2, 10}}, 3),
              ElementsAre(2, 4));
}

TEST(VisibleKeys, OfABlockLeaveOutKeysOutsideItsWindows) {
  const VisibleKeys keys{.is_causal = true, .window = 100};
  const KeyRange read = keys.of_block(1000, 1032, 4096);
  EXPECT_EQ(read.begin, 896);
  EXPECT_EQ(read.end, 1032);
  EXPECT_LE(read.size(), keys.most_of_block(32, 4096));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(VisibleKeys{.window = huge}.most_of_block(32, 4096), 4096);
}

TEST(GroupedAttention, HasItsDerivatives) {
  const std::vector<Dims> shapes = {{2, 4, 3, 2}, {2, 2, 3, 2}, {2, 2, 3, 2}};
  check_visible({.enable_gqa = true}, shapes);
  check_visible({.is_causal = true, .enable_gqa = true}, shapes);
  check_visible({.is_causal = true, .enable_gqa = true, .window = 2}, shapes);
}

TEST(PackedAttention, HasItsDerivatives) {
  const std::vector<Dims> shapes = {{2, 5, 2}, {2, 5, 2}, {2, 5, 2}};
  check_visible({.cumulative_lengths = {0, 2, 5}}, shapes);
  check_visible({.is_causal = true, .cumulative_lengths = {0, 2, 2, 5}},
                shapes);
}

TEST(PackedAttention, IsThatOfEachSequence) {
  manual_seed(3);
  const Tensor x = randn({2, 150, 8});
  const Tensor packed = scaled_dot_product_attention(
      x, x, x, {.is_causal = true, .cumulative_lengths = {0, 100, 150}});
  for (const auto& [start, length] : {std::pair(0, 100), std::pair(100, 50)}) {
    const Tensor alone = x.narrow(1, start, length);
    const Tensor wanted =
        scaled_dot_product_attention(alone, alone, alone, {.is_causal = true});
    EXPECT_LT(max(abs(packed.narrow(1, start, length) - wanted)).item<float>(),
              1e-6f);
  }
}

// With an identity as values, dropped weights show.
TEST(WindowedAttention, DropsTheSameWeightsInBothDirections) {
  manual_seed(4);
  Tensor q = randn({1, 300, 8}).set_requires_grad(true);
  Tensor k = randn({1, 300, 8}).set_requires_grad(true);
  const Tensor index = arange(0, 300);
  Tensor v = eq(index.unsqueeze(1), index).to(DType::kF32);
  v = v.unsqueeze(0).set_requires_grad(true);
  const Tensor y = scaled_dot_product_attention(
      q, k, v, {.is_causal = true, .dropout_p = 0.25, .window = 40});
  const Tensor distance = index.unsqueeze(1) - index;
  const Tensor hidden = logical_or(lt(distance, 0), ge(distance, 40));
  const Tensor kept = gt(y.detach(), 0.0).to(DType::kF32);
  EXPECT_EQ(masked_fill(kept, logical_not(hidden), 0.0).sum().item<float>(), 0);
  Tensor scores = matmul(q, k.transpose(1, 2)) * (1 / std::sqrt(8.0));
  scores = masked_fill(scores, hidden, -INFINITY);
  const Tensor wanted = matmul(softmax(scores, -1) * kept / 0.75, v);
  const Tensor seed = randn(y.shape());
  const auto got = autograd::grad({y}, {q, k, v}, {seed});
  const auto slopes = autograd::grad({wanted}, {q, k, v}, {seed});
  EXPECT_LT(max(abs(y - wanted)).item<float>(), 1e-5f);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LT(max(abs(got[i] - slopes[i])).item<float>(), 2e-5f) << i;
  }
}

TEST(GroupedAttention, CopiesNoHeads) {
  const Tensor q = randn({1, 8, 1, 64});
  const Tensor k = randn({1, 1, 4096, 64});
  auto& memory = autograd::cpu_allocator();
  memory.reset_peak();
  const std::int64_t before = memory.stats().current_bytes;
  const Tensor y = scaled_dot_product_attention(q, k, k, {.enable_gqa = true});
  const std::int64_t one_head = 4096 * 64 * 4;
  EXPECT_LT(memory.stats().peak_bytes - before, 3 * one_head);
}

TEST(GroupedAttention, HasTheSameBitsInACheckpoint) {
  manual_seed(5);
  const auto leaf = [](const Dims& shape) {
    return randn(shape).set_requires_grad(true);
  };
  const Tensor q = leaf({1, 4, 90, 8}), k = leaf({1, 2, 90, 8});
  const auto run = [](const std::vector<Tensor>& x) {
    const Tensor turned = rotary_embedding(x[0]);
    return scaled_dot_product_attention(
        turned, rotary_embedding(x[1]), x[1],
        {.is_causal = true, .enable_gqa = true, .window = 7});
  };
  const Tensor plain = run({q, k});
  const Tensor replayed = checkpoint(run, std::vector{q, k});
  EXPECT_EQ(replayed.to_vector<float>(), plain.to_vector<float>());
  const auto wanted = autograd::grad({plain.sum()}, {q, k});
  const auto got = autograd::grad({replayed.sum()}, {q, k});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got[i].to_vector<float>(), wanted[i].to_vector<float>());
  }
}

TEST(GroupedAttention, TakesHalvesAndNothing) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const Tensor q = to(randn({4, 3, 2}), dtype).set_requires_grad(true);
    const Tensor k = to(randn({2, 3, 2}), dtype).set_requires_grad(true);
    const Tensor y =
        scaled_dot_product_attention(q, k, k, {.enable_gqa = true});
    y.sum().backward();
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(k.grad().shape(), k.shape());
    EXPECT_EQ(k.grad().dtype(), dtype);
  }
  const Tensor none = zeros({0, 3, 2}, {.requires_grad = true});
  const Tensor y =
      scaled_dot_product_attention(none, none, none, {.enable_gqa = true});
  EXPECT_EQ(y.shape(), Shape({0, 3, 2}));
  y.sum().backward();
  EXPECT_EQ(none.grad().shape(), none.shape());
  const Tensor keyless = zeros({2, 0, 2});
  EXPECT_THAT(scaled_dot_product_attention(
                  ones({4, 3, 2}), keyless, keyless,
                  {.is_causal = true, .enable_gqa = true, .window = 1})
                  .to_vector<float>(),
              testing::Each(0.0f));
}

TEST(VisibleKeys, RefuseWhatDoesNotFit) {
  const Tensor x = ones({2, 3, 4});
  const auto attend = [&](const AttentionOptions& options) {
    return scaled_dot_product_attention(x, x, x, options);
  };
  EXPECT_ERROR(InvalidArgument, "have no groups of heads",
               scaled_dot_product_attention(ones({3, 3, 4}), x, x,
                                            {.enable_gqa = true}));
  EXPECT_ERROR(InvalidArgument, "with is_causal", attend({.window = 2}));
  EXPECT_ERROR(InvalidArgument, "with is_causal",
               attend({.is_causal = true, .query_offset = -1}));
  EXPECT_ERROR(InvalidArgument, "do not rise from 0",
               attend({.cumulative_lengths = {0, 2}}));
  EXPECT_ERROR(InvalidArgument, "do not rise from 0",
               attend({.cumulative_lengths = {0, 2, 1, 3}}));
  EXPECT_ERROR(InvalidArgument, "exclude a mask",
               attend({.is_causal = true,
                       .query_offset = 1,
                       .cumulative_lengths = {0, 3}}));
}

}  // namespace
}  // namespace hvd
