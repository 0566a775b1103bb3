// SPDX-License-Identifier: Apache-2.0
// CausalAttention is the self-attention of a decoder: rotary positions, groups
// of query heads that share keys and values, and a window.
//
//   hvd::nn::CausalAttention attention({.width = 288, .heads = 6,
//                                       .key_heads = 2});
//   hvd::Tensor y = attention(x);                    // [n, t, 288]
//   y = attention.run(x, {.cumulative_lengths = {0, 100, 128}});
//   y = attention.run(next, {.cache = &cache});      // Under hvd::NoGrad.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/decoder/key_value_cache.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/attention/rotary.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct CausalAttentionOptions {
  std::int64_t width = 1;
  std::int64_t heads = 1;
  std::int64_t key_heads = 0;   // Of keys and values; 0: `heads`.
  std::int64_t head_width = 0;  // 0: width / heads.
  std::int64_t window = 0;      // Tokens that a token sees; 0: all.
  double rotary_base = 10000.0;
  bool interleaved = false;  // See RotaryOptions.
  RotaryScaling rotary_scaling = {};
  bool bias = false;
  DType dtype = DType::kF32;
};

struct CausalAttentionCall {
  // Holds the earlier tokens; gets those of this call.
  KeyValueCache* cache = nullptr;
  // Bounds of the sequences in each row, whose positions begin at 0. Excludes
  // a cache.
  std::vector<std::int64_t> cumulative_lengths = {};
};

class CausalAttention : public Module {
 public:
  // "q_proj", "k_proj", "v_proj" and "o_proj", as of Hugging Face's Llama.
  //   InvalidArgument  a size is not positive; key_heads do not divide heads;
  //                    or the width of a head is odd
  explicit CausalAttention(const CausalAttentionOptions& options);

  // [n, t, width] -> the same
  Tensor forward(const Tensor& input) override { return run(input); }
  //   InvalidArgument  the cache is full or of another shape; the lengths do
  //                    not add up to t; both are given
  Tensor run(const Tensor& input, const CausalAttentionCall& call = {}) const;

  // Room for `limit` tokens of `batch` rows.
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t limit,
                                            std::int64_t batch = 1) const;

 private:
  Tensor split(const Tensor& x, std::int64_t heads) const;

  CausalAttentionOptions options_;
  std::shared_ptr<Linear> q_;
  std::shared_ptr<Linear> k_;
  std::shared_ptr<Linear> v_;
  std::shared_ptr<Linear> o_;
};

}  // namespace nn
}  // namespace hvd
