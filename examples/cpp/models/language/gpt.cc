// SPDX-License-Identifier: Apache-2.0
#include "models/language/gpt.h"

#include <horovodpp/autograd.h>

#include <cmath>
#include <string>

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

GPTBlock::GPTBlock(const GPTOptions& options)
    : heads_(options.heads),
      dropout_(options.dropout),
      ln_1_(register_module("ln_1", std::make_shared<nn::LayerNorm>(
                                        hvd::autograd::Dims{options.width}))),
      qkv_(register_module("qkv", std::make_shared<nn::Linear>(
                                      options.width, 3 * options.width))),
      proj_(register_module(
          "proj", std::make_shared<nn::Linear>(options.width, options.width))),
      ln_2_(register_module("ln_2", std::make_shared<nn::LayerNorm>(
                                        hvd::autograd::Dims{options.width}))),
      fc_(register_module("fc", std::make_shared<nn::Linear>(
                                    options.width, 4 * options.width))),
      fc_out_(register_module(
          "fc_out",
          std::make_shared<nn::Linear>(4 * options.width, options.width))) {}

// [n, t, 3 width] -> [n, t, width]
Tensor GPTBlock::attend(const Tensor& qkv) const {
  const std::int64_t n = qkv.size(0);
  const std::int64_t t = qkv.size(1);
  const std::int64_t width = qkv.size(2) / 3;
  const auto parts = qkv.reshape({n, t, 3, heads_, width / heads_}).unbind(2);
  return hvd::scaled_dot_product_attention(
             parts[0].transpose(1, 2), parts[1].transpose(1, 2),
             parts[2].transpose(1, 2), {.is_causal = true})
      .transpose(1, 2)
      .reshape({n, t, width});
}

// Backward of a product needs only its inputs. So a region that ends with one
// recomputes only the part before it.
Tensor GPTBlock::add_attention(const Tensor& x, Lean lean) {
  const Tensor qkv = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) { return (*qkv_)((*ln_1_)(in)); }, x);
  const Tensor y = recompute_if(
      lean >= Lean::kAttention,
      [this](const Tensor& in) { return (*proj_)(attend(in)); }, qkv);
  return x + hvd::dropout(y, dropout_, is_training());
}

Tensor GPTBlock::add_mlp(const Tensor& x, Lean lean) {
  const Tensor wide = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) { return (*fc_)((*ln_2_)(in)); }, x);
  const Tensor y = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) {
        return (*fc_out_)(hvd::gelu(in, hvd::GeluForm::kTanh));
      },
      wide);
  return x + hvd::dropout(y, dropout_, is_training());
}

GPT::GPT(const GPTOptions& options)
    : options_(options),
      wte_(register_module("wte", std::make_shared<nn::Embedding>(
                                      options.vocabulary, options.width))),
      wpe_(register_module("wpe", std::make_shared<nn::Embedding>(
                                      options.context, options.width))),
      blocks_(register_module("blocks",
                              std::make_shared<nn::ModuleList<GPTBlock>>())) {
  ln_f_ = register_module("ln_f", std::make_shared<nn::LayerNorm>(
                                      hvd::autograd::Dims{options.width}));
  add_stage({[this](const Tensor& tokens) { return embed(tokens); }});
  for (std::int64_t i = 0; i < options.layers; ++i) {
    const auto block = std::make_shared<GPTBlock>(options);
    blocks_->push_back(block);
    add_block(block->stages());
  }
  add_stage({[this](const Tensor& x) { return predict(x); }});
}

Tensor GPT::embed(const Tensor& tokens) {
  const Tensor positions = hvd::arange(0, static_cast<double>(tokens.size(1)));
  return (*wte_)(tokens) + (*wpe_)(positions);
}

Tensor GPT::predict(const Tensor& x) {
  return hvd::linear((*ln_f_)(x), wte_->weight());
}

void GPT::reset_parameters() {
  const double added =
      0.02 / std::sqrt(2.0 * static_cast<double>(options_.layers));
  for (const auto& [name, parameter] : named_parameters()) {
    const bool is_added =
        name.ends_with(".proj.weight") || name.ends_with(".fc_out.weight");
    if (parameter.dim() == 2) {
      nn::init::normal_(parameter, 0.0, is_added ? added : 0.02);
    } else if (name.ends_with(".bias")) {
      nn::init::zeros_(parameter);
    }
  }
}

}  // namespace models
