// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/causal_attention.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/attention/attention.h"
#include "horovodpp/ops/attention/rotary.h"
#include "horovodpp/ops/shape_ops.h"

namespace hvd::nn {
namespace {

CausalAttentionOptions completed(CausalAttentionOptions options) {
  if (options.key_heads == 0) options.key_heads = options.heads;
  const bool has_heads = options.width > 0 && options.heads > 0 &&
                         options.key_heads > 0 &&
                         options.heads % options.key_heads == 0;
  if (has_heads && options.head_width == 0 &&
      options.width % options.heads == 0) {
    options.head_width = options.width / options.heads;
  }
  if (!has_heads || options.head_width <= 0 || options.head_width % 2 != 0) {
    throw InvalidArgument(
        absl::StrCat("CausalAttention: a width of ", options.width, " with ",
                     options.heads, " heads and ", options.key_heads,
                     " of keys, each of width ", options.head_width,
                     "; key heads divide the heads, and their width is even"));
  }
  return options;
}

// 0, 1, ... in each sequence.
std::vector<std::int64_t> positions_of(
    const std::vector<std::int64_t>& bounds) {
  std::vector<std::int64_t> positions;
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    for (std::int64_t at = 0; at < bounds[i] - bounds[i - 1]; ++at) {
      positions.push_back(at);
    }
  }
  return positions;
}

}  // namespace

CausalAttention::CausalAttention(const CausalAttentionOptions& options)
    : options_(completed(options)) {
  const LinearOptions linear{.bias = options_.bias, .dtype = options_.dtype};
  const auto add = [&](const char* name, std::int64_t in, std::int64_t out) {
    return register_module(name, std::make_shared<Linear>(in, out, linear));
  };
  const std::int64_t queries = options_.heads * options_.head_width;
  const std::int64_t keys = options_.key_heads * options_.head_width;
  q_ = add("q_proj", options_.width, queries);
  k_ = add("k_proj", options_.width, keys);
  v_ = add("v_proj", options_.width, keys);
  o_ = add("o_proj", queries, options_.width);
}

// [n, t, heads head_width] -> [n, heads, t, head_width]
Tensor CausalAttention::split(const Tensor& x, std::int64_t heads) const {
  return x.reshape({x.size(0), x.size(1), heads, options_.head_width})
      .transpose(1, 2);
}

Tensor CausalAttention::run(const Tensor& input,
                            const CausalAttentionCall& call) const {
  if (input.dim() != 3) {
    throw InvalidArgument(absl::StrCat("CausalAttention: the input ",
                                       input.describe(),
                                       " is not [batch, time, width]"));
  }
  if (call.cache != nullptr && !call.cumulative_lengths.empty()) {
    throw InvalidArgument(
        "CausalAttention: a cache and cumulative_lengths; a cache holds one "
        "sequence per row");
  }
  const std::int64_t earlier = call.cache == nullptr ? 0 : call.cache->length();
  const RotaryOptions rotary{.base = options_.rotary_base,
                             .offset = earlier,
                             .positions = positions_of(call.cumulative_lengths),
                             .interleaved = options_.interleaved,
                             .scaling = options_.rotary_scaling};
  const Tensor q =
      rotary_embedding(split((*q_)(input), options_.heads), rotary);
  Tensor k = rotary_embedding(split((*k_)(input), options_.key_heads), rotary);
  Tensor v = split((*v_)(input), options_.key_heads);
  if (call.cache != nullptr) {
    const KeyValueCache::Entries all = call.cache->append(k, v);
    k = all.keys;
    v = all.values;
  }
  const Tensor y = scaled_dot_product_attention(
      q, k, v,
      {.is_causal = true,
       .enable_gqa = true,
       .window = options_.window,
       .query_offset = earlier,
       .cumulative_lengths = call.cumulative_lengths});
  return (*o_)(y.transpose(1, 2).reshape(
      {input.size(0), input.size(1), options_.heads * options_.head_width}));
}

std::unique_ptr<KeyValueCache> CausalAttention::make_cache(
    std::int64_t limit, std::int64_t batch) const {
  return std::make_unique<KeyValueCache>(
      KeyValueCacheOptions{.batch = batch,
                           .heads = options_.key_heads,
                           .width = options_.head_width,
                           .limit = limit,
                           .dtype = options_.dtype});
}

}  // namespace hvd::nn
