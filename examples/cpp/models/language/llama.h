// SPDX-License-Identifier: Apache-2.0
// Llama is a decoder that predicts the next token (Touvron et al. 2023): norms
// by the root mean square, rotary positions, groups of query heads, and gated
// feed-forward layers. Its parameters have Hugging Face's names, so that its
// safetensors load by name.
//
//   models::Llama model({.width = 288, .layers = 6, .heads = 6});
//   hvd::Tensor logits = model(tokens);  // int64 [n, t] -> [n, t, vocabulary]
#pragma once

#include <horovodpp/nn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "models/chain_model.h"
#include "models/named_part.h"
#include "models/transformer_block.h"

namespace models {

struct LlamaOptions {
  std::int64_t width = 128;    // hidden_size
  std::int64_t hidden = 0;     // intermediate_size; 0: 8/3 width, rounded up.
  std::int64_t layers = 4;     // num_hidden_layers
  std::int64_t heads = 4;      // num_attention_heads
  std::int64_t key_heads = 0;  // num_key_value_heads; 0: `heads`.
  std::int64_t window = 0;     // sliding_window; 0: none.
  std::int64_t vocabulary = 256;  // vocab_size
  double rotary_base = 10000.0;   // rope_theta
  double eps = 1e-5;              // rms_norm_eps
  bool tied = true;               // tie_word_embeddings
};

// [n, t, width] -> the same
class LlamaBlock : public TransformerBlock {
 public:
  explicit LlamaBlock(const LlamaOptions& options);

  // Without recording; `cache` holds the earlier tokens.
  hvd::Tensor next(const hvd::Tensor& x, hvd::nn::KeyValueCache& cache);
  std::unique_ptr<hvd::nn::KeyValueCache> make_cache(std::int64_t limit) const {
    return self_attn_->make_cache(limit);
  }

 private:
  hvd::Tensor add_attention(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor add_mlp(const hvd::Tensor& x, Lean lean) override;

  std::shared_ptr<hvd::nn::CausalAttention> self_attn_;
  std::shared_ptr<hvd::nn::SwiGLU> mlp_;
  std::shared_ptr<hvd::nn::RMSNorm> input_layernorm_;
  std::shared_ptr<hvd::nn::RMSNorm> post_attention_layernorm_;
};

// int64 [n, t] -> [n, t, vocabulary]
class Llama : public ChainModel {
 public:
  explicit Llama(const LlamaOptions& options = {});

  // Initializes weights normally with a deviation of 0.02, less for those that
  // feed the residual. (The constructor's are PyTorch's.)
  void reset_parameters();

  // The logits of one text whose tokens come bit by bit, with key-value caches
  // for at most `limit` tokens. The model lives as long.
  hvd::nn::NextLogits with_cache(std::int64_t limit);

 private:
  // The modules that Hugging Face calls "model".
  struct Body : NamedPart {
    explicit Body(const LlamaOptions& options);
    std::shared_ptr<hvd::nn::Embedding> embed_tokens;
    std::shared_ptr<hvd::nn::ModuleList<LlamaBlock>> layers;
    std::shared_ptr<hvd::nn::RMSNorm> norm;
  };
  hvd::Tensor predict(const hvd::Tensor& x);

  const LlamaOptions options_;
  std::shared_ptr<Body> body_;
  std::shared_ptr<hvd::nn::Linear> lm_head_;  // Null if tied.
};

}  // namespace models
