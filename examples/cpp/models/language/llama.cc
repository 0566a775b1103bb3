// SPDX-License-Identifier: Apache-2.0
#include "models/language/llama.h"

#include <horovodpp/autograd.h>

#include <cmath>
#include <cstddef>
#include <string>

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

namespace {

std::shared_ptr<nn::RMSNorm> llama_norm(const LlamaOptions& options) {
  return std::make_shared<nn::RMSNorm>(hvd::autograd::Dims{options.width},
                                       nn::RMSNormOptions{.eps = options.eps});
}

// A multiple of 32, as matrix products like.
std::int64_t llama_hidden(const LlamaOptions& options) {
  if (options.hidden > 0) return options.hidden;
  return (options.width * 8 / 3 + 31) / 32 * 32;
}

}  // namespace

LlamaBlock::LlamaBlock(const LlamaOptions& options)
    : self_attn_(register_module(
          "self_attn",
          std::make_shared<nn::CausalAttention>(
              nn::CausalAttentionOptions{.width = options.width,
                                         .heads = options.heads,
                                         .key_heads = options.key_heads,
                                         .window = options.window,
                                         .rotary_base = options.rotary_base}))),
      mlp_(register_module("mlp", std::make_shared<nn::SwiGLU>(
                                      options.width, llama_hidden(options)))),
      input_layernorm_(register_module("input_layernorm", llama_norm(options))),
      post_attention_layernorm_(
          register_module("post_attention_layernorm", llama_norm(options))) {}

Tensor LlamaBlock::add_attention(const Tensor& x, Lean lean) {
  return x + recompute_if(
                 lean >= Lean::kAttention,
                 [this](const Tensor& in) {
                   return (*self_attn_)((*input_layernorm_)(in));
                 },
                 x);
}

// Backward of a product needs only its inputs. So a region that ends with one
// recomputes only the part before it.
Tensor LlamaBlock::add_mlp(const Tensor& x, Lean lean) {
  const Tensor normal = (*post_attention_layernorm_)(x);
  const Tensor gate = mlp_->gate(normal);
  const Tensor up = mlp_->up(normal);
  if (lean == Lean::kNot) return x + mlp_->finish(gate, up);
  return x +
         hvd::checkpoint([this](const Tensor& a,
                                const Tensor& b) { return mlp_->finish(a, b); },
                         gate, up);
}

Tensor LlamaBlock::next(const Tensor& x, nn::KeyValueCache& cache) {
  const Tensor y =
      x + self_attn_->run((*input_layernorm_)(x), {.cache = &cache});
  return y + (*mlp_)((*post_attention_layernorm_)(y));
}

Llama::Body::Body(const LlamaOptions& options)
    : embed_tokens(register_module(
          "embed_tokens",
          std::make_shared<nn::Embedding>(options.vocabulary, options.width))),
      layers(register_module("layers",
                             std::make_shared<nn::ModuleList<LlamaBlock>>())),
      norm(register_module("norm", llama_norm(options))) {
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers->push_back(std::make_shared<LlamaBlock>(options));
  }
}

Llama::Llama(const LlamaOptions& options)
    : options_(options),
      body_(register_module("model", std::make_shared<Body>(options))) {
  if (!options.tied) {
    lm_head_ = register_module(
        "lm_head",
        std::make_shared<nn::Linear>(options.width, options.vocabulary,
                                     nn::LinearOptions{.bias = false}));
  }
  add_stage({[this](const Tensor& tokens) {
    return (*body_->embed_tokens)(tokens);
  }});
  for (const auto& block : *body_->layers) add_block(block->stages());
  add_stage({[this](const Tensor& x) { return predict(x); }});
}

Tensor Llama::predict(const Tensor& x) {
  const Tensor y = (*body_->norm)(x);
  return lm_head_ == nullptr ? hvd::linear(y, body_->embed_tokens->weight())
                             : (*lm_head_)(y);
}

void Llama::reset_parameters() {
  const double added =
      0.02 / std::sqrt(2.0 * static_cast<double>(options_.layers));
  for (const auto& [name, parameter] : named_parameters()) {
    if (parameter.dim() != 2) continue;
    const bool is_added =
        name.ends_with(".o_proj.weight") || name.ends_with(".down_proj.weight");
    nn::init::normal_(parameter, 0.0, is_added ? added : 0.02);
  }
}

nn::NextLogits Llama::with_cache(std::int64_t limit) {
  std::vector<std::shared_ptr<nn::KeyValueCache>> caches;
  for (const auto& block : *body_->layers) {
    caches.push_back(block->make_cache(limit));
  }
  return [this, caches](const Tensor& tokens) {
    Tensor x = (*body_->embed_tokens)(tokens);
    for (std::size_t i = 0; i < caches.size(); ++i) {
      x = (*body_->layers)[i].next(x, *caches[i]);
    }
    return predict(x.narrow(1, x.size(1) - 1, 1));
  };
}

}  // namespace models
