// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/multihead_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"

namespace hvd::nn {
namespace {

double gap(const Tensor& a, const Tensor& b) {
  return max(abs(a - b)).item<float>();
}

TEST(MultiheadAttention, BeginsAsPyTorchs) {
  manual_seed(3);
  MultiheadAttention attention(32, 4);
  const auto named = attention.named_parameters();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : named) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("in_proj_weight", "in_proj_bias",
                                          "out_proj.weight", "out_proj.bias"));
  const double bound = std::sqrt(6.0 / (32 + 96));
  const double largest = max(abs(named[0].tensor)).item<float>();
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.98 * bound);
  EXPECT_THAT(named[1].tensor.to_vector<float>(), testing::Each(0));
  EXPECT_THAT(named[3].tensor.to_vector<float>(), testing::Each(0));
}

TEST(MultiheadAttention, TakesTimeOrBatchFirst) {
  manual_seed(3);
  MultiheadAttention time_first(8, 2);
  manual_seed(3);
  MultiheadAttention batch_first(8, 2, {.batch_first = true});
  const Tensor x = randn({5, 3, 8});
  const Tensor memory = randn({4, 3, 8});
  EXPECT_LT(gap(time_first(x), batch_first(x.transpose(0, 1)).transpose(0, 1)),
            1e-6);
  const Tensor swapped = memory.transpose(0, 1);
  EXPECT_LT(gap(time_first.attend(x, memory, memory).output,
                batch_first.attend(x.transpose(0, 1), swapped, swapped)
                    .output.transpose(0, 1)),
            1e-6);
}

TEST(MultiheadAttention, TakesMasksOfEachHeadAndOfNumbers) {
  MultiheadAttention attention(8, 2, {.batch_first = true});
  const Tensor x = randn({3, 4, 8});
  const Tensor later = gt(arange(0, 4), arange(0, 4).unsqueeze(1));
  const Tensor causal = attention.attend(x, x, x, {.is_causal = true}).output;
  const Tensor each = later.unsqueeze(0).expand({6, 4, 4});
  EXPECT_LT(gap(attention.attend(x, x, x, {.mask = each}).output, causal),
            1e-6);
  const Tensor numbers = masked_fill(zeros({4, 4}), later, -1e9);
  EXPECT_LT(gap(attention.attend(x, x, x, {.mask = numbers}).output, causal),
            1e-6);
}

TEST(MultiheadAttention, DropsWeightsWhileTrainingOnly) {
  MultiheadAttention attention(8, 2, {.dropout = 0.5, .batch_first = true});
  const Tensor x = randn({3, 4, 8});
  for (const bool need_weights : {false, true}) {
    const AttendOptions options{.need_weights = need_weights};
    attention.train();
    EXPECT_GT(gap(attention.attend(x, x, x, options).output,
                  attention.attend(x, x, x, options).output),
              1e-3);
    attention.eval();
    EXPECT_EQ(gap(attention.attend(x, x, x, options).output,
                  attention.attend(x, x, x, options).output),
              0);
  }
}

TEST(MultiheadAttention, RefusesMismatchedInputs) {
  EXPECT_THROW(MultiheadAttention(8, 3), InvalidArgument);
  EXPECT_THROW(MultiheadAttention(0, 1), InvalidArgument);
  EXPECT_THROW(MultiheadAttention(8, 2, {.dropout = 2}), InvalidArgument);
  MultiheadAttention attention(8, 2);
  EXPECT_THROW(attention(ones({3, 8})), InvalidArgument);
  EXPECT_THROW(attention(ones({3, 2, 7})), InvalidArgument);
  const Tensor x = ones({3, 2, 8});
  EXPECT_THROW(
      attention.attend(x, x, x, {.mask = zeros({3, 3}), .is_causal = true}),
      InvalidArgument);
}

TEST(MultiheadAttention, RefusesShapesThatWouldBroadcast) {
  MultiheadAttention attention(8, 2);
  const Tensor query = ones({3, 2, 8});
  const Tensor key = ones({5, 2, 8});
  const auto attend = [&](const AttendOptions& options) {
    attention.attend(query, key, key, options);
  };
  attend({.mask = zeros({3, 5})});
  attend({.mask = zeros({4, 3, 5}), .key_padding_mask = zeros({2, 5})});
  for (const autograd::Dims& shape : std::vector<autograd::Dims>{
           {5}, {1, 5}, {3, 1}, {5, 3}, {1, 3, 5}, {2, 2, 3, 5}}) {
    EXPECT_THROW(attend({.mask = zeros(shape)}), InvalidArgument);
  }
  for (const autograd::Dims& shape :
       std::vector<autograd::Dims>{{5, 2}, {10}, {1, 5}, {2, 5, 1}}) {
    EXPECT_THROW(attend({.key_padding_mask = zeros(shape)}), InvalidArgument);
  }
  EXPECT_THROW(attend({.mask = zeros({3, 5}, {.dtype = DType::kI64})}),
               InvalidArgument);
  EXPECT_THROW(attention.attend(query, ones({5, 1, 8}), ones({5, 1, 8})),
               InvalidArgument);
  EXPECT_THROW(attention.attend(query, key, ones({4, 2, 8})), InvalidArgument);
}

}  // namespace
}  // namespace hvd::nn
