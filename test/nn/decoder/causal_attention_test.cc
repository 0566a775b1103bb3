// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/causal_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/decoder/swiglu.h"
#include "test/support/expect_error.h"

namespace hvd::nn {
namespace {

constexpr std::int64_t kWidth = 24;

CausalAttention make_attention(std::int64_t window = 0) {
  return CausalAttention({.width = kWidth,
                          .heads = 6,
                          .key_heads = 2,
                          .window = window,
                          .rotary_base = 100});
}

double apart(const Tensor& a, const Tensor& b) {
  return max(abs(a - b)).item<float>();
}

TEST(CausalAttention, HasTheNamesOfLlama) {
  const CausalAttention attention = make_attention();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : attention.named_parameters()) {
    names.push_back(name);
  }
  EXPECT_THAT(names, testing::ElementsAre("q_proj.weight", "k_proj.weight",
                                          "v_proj.weight", "o_proj.weight"));
  EXPECT_EQ(attention.named_parameters()[1].tensor.shape(), Shape({8, kWidth}));
}

TEST(CausalAttention, HasTheSameValuesWithACache) {
  manual_seed(4);
  for (const std::int64_t window : {0, 3}) {
    CausalAttention attention = make_attention(window);
    const NoGrad no_grad;
    const Tensor x = randn({2, 9, kWidth});
    const Tensor wanted = attention(x);
    const auto cache = attention.make_cache(9, 2);
    std::vector<Tensor> rows;
    std::int64_t at = 0;
    for (const std::int64_t count : {4, 1, 3, 1}) {
      rows.push_back(
          attention.run(x.narrow(1, at, count), {.cache = cache.get()}));
      at += count;
    }
    EXPECT_LT(apart(cat(rows, 1), wanted), 1e-6) << window;
    EXPECT_ERROR(InvalidArgument, "exceed the limit of 9",
                 attention.run(x.narrow(1, 0, 1), {.cache = cache.get()}));
  }
}

TEST(CausalAttention, SeparatesPackedSequences) {
  manual_seed(4);
  CausalAttention attention = make_attention();
  const Tensor x = randn({2, 9, kWidth});
  const Tensor packed = attention.run(x, {.cumulative_lengths = {0, 5, 9}});
  EXPECT_LT(apart(packed.narrow(1, 0, 5), attention(x.narrow(1, 0, 5))), 1e-6);
  EXPECT_LT(apart(packed.narrow(1, 5, 4), attention(x.narrow(1, 5, 4))), 1e-6);
  EXPECT_GT(apart(packed, attention(x)), 1e-3);
}

TEST(CausalAttention, HasTheSameGradientsInACheckpoint) {
  manual_seed(4);
  CausalAttention attention = make_attention(4);
  const Tensor x = randn({2, 9, kWidth}).set_requires_grad(true);
  attention(x).sum().backward();
  const auto wanted = x.grad().to_vector<float>();
  x.grad().fill_(0);
  checkpoint([&](const Tensor& in) { return attention(in); }, x)
      .sum()
      .backward();
  EXPECT_EQ(x.grad().to_vector<float>(), wanted);
}

TEST(CausalAttention, RefusesSizesAndCallsThatDoNotFit) {
  EXPECT_ERROR(InvalidArgument, "key heads divide",
               CausalAttention({.width = 8, .heads = 4, .key_heads = 3}));
  EXPECT_ERROR(InvalidArgument, "their width is even",
               CausalAttention({.width = 12, .heads = 4}));
  const CausalAttention attention = make_attention();
  const NoGrad no_grad;
  const auto cache = attention.make_cache(4);
  const Tensor x = randn({1, 2, kWidth});
  EXPECT_ERROR(
      InvalidArgument, "a cache and cumulative_lengths",
      attention.run(x, {.cache = cache.get(), .cumulative_lengths = {0, 2}}));
  EXPECT_ERROR(InvalidArgument, "is not [batch, time, width]",
               attention.run(randn({2, kWidth})));
}

TEST(SwiGLU, IsTheProductOfItsGate) {
  manual_seed(4);
  SwiGLU mlp(4, 6);
  const Tensor x = randn({3, 4});
  const StateDict state = mlp.state_dict();
  EXPECT_EQ(state[0].name, "gate_proj.weight");
  const Tensor gate = matmul(x, state[0].tensor.t());
  const Tensor up = matmul(x, state[1].tensor.t());
  const Tensor wanted = matmul(gate * sigmoid(gate) * up, state[2].tensor.t());
  EXPECT_LT(apart(mlp(x), wanted), 1e-6);
  EXPECT_THROW(SwiGLU(0, 3), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
