// SPDX-License-Identifier: Apache-2.0
// Attention and rotary embeddings compute PyTorch's values and gradients.
// test/fixtures/make_attention_fixtures.py makes the expected numbers.
#include <gtest/gtest.h>

#include "horovodpp/ops.h"
#include "test/ops/torch_cases.h"

namespace hvd {
namespace {

using autograd::Dims;

auto attending(const AttentionOptions& options) {
  return [options](X x) {
    return scaled_dot_product_attention(4.0 * x[0], x[1], x[2], options);
  };
}

auto rotating(const RotaryOptions& options) {
  return [options](X x) { return rotary_embedding(x[0], options); };
}

TEST(TorchAttention, HasItsValuesAndGradients) {
  const std::vector<Dims> grouped = {{2, 6, 5, 4}, {2, 2, 5, 4}, {2, 2, 5, 3}};
  const std::vector<Dims> many = {
      {1, 2, 150, 4}, {1, 1, 150, 4}, {1, 1, 150, 4}};
  const std::vector<Dims> later = {{1, 2, 3, 4}, {1, 2, 8, 4}, {1, 2, 8, 4}};
  const std::vector<std::int64_t> bounds = {0, 3, 3, 70, 150};
  std::vector<Dims> with_mask = grouped;
  with_mask.push_back({5, 5});
  hold_all_to_pytorch(
      read_fixture("attention.safetensors"),
      {{"gqa", {grouped, attending({.enable_gqa = true})}},
       {"gqa_causal",
        {grouped, attending({.is_causal = true, .enable_gqa = true})}},
       {"gqa_masked",
        {with_mask,
         [](X x) {
           return scaled_dot_product_attention(
               x[0], x[1], x[2], {.mask = x[3], .enable_gqa = true});
         }}},
       {"window",
        {many,
         attending({.is_causal = true, .enable_gqa = true, .window = 9})}},
       {"window_few",
        {grouped,
         attending({.is_causal = true, .enable_gqa = true, .window = 2})}},
       {"offset", {later, attending({.is_causal = true, .query_offset = 5})}},
       {"packed",
        {many, attending({.enable_gqa = true, .cumulative_lengths = bounds})}},
       {"packed_causal_window",
        {many, attending({.is_causal = true,
                          .enable_gqa = true,
                          .window = 20,
                          .cumulative_lengths = bounds})}},
       {"rotary", {{{2, 3, 5, 6}}, rotating({})}},
       {"rotary_later", {{{2, 5, 6}}, rotating({.base = 500, .offset = 3})}},
       {"rotary_packed", {{{5, 6}}, rotating({.positions = {0, 1, 0, 1, 2}})}},
       {"rotary_interleaved", {{{2, 5, 6}}, rotating({.interleaved = true})}}});
}

}  // namespace
}  // namespace hvd
