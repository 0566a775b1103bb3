// SPDX-License-Identifier: Apache-2.0
#include "models/gpt.h"

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

Tensor GPTBlock::attend(const Tensor& x) {
  const std::int64_t n = x.size(0);
  const std::int64_t t = x.size(1);
  const std::int64_t width = x.size(2);
  const auto qkv =
      (*qkv_)(x).reshape({n, t, 3, heads_, width / heads_}).unbind(2);
  const Tensor y = hvd::scaled_dot_product_attention(
      qkv[0].transpose(1, 2), qkv[1].transpose(1, 2), qkv[2].transpose(1, 2),
      {.is_causal = true});
  return (*proj_)(y.transpose(1, 2).reshape({n, t, width}));
}

Tensor GPTBlock::forward(const Tensor& x) {
  const Tensor y =
      x + hvd::dropout(attend((*ln_1_)(x)), dropout_, is_training());
  const Tensor wide = hvd::gelu((*fc_)((*ln_2_)(y)), hvd::GeluForm::kTanh);
  return y + hvd::dropout((*fc_out_)(wide), dropout_, is_training());
}

GPT::GPT(const GPTOptions& options)
    : options_(options),
      wte_(register_module("wte", std::make_shared<nn::Embedding>(
                                      options.vocabulary, options.width))),
      wpe_(register_module("wpe", std::make_shared<nn::Embedding>(
                                      options.context, options.width))),
      blocks_(register_module("blocks",
                              std::make_shared<nn::ModuleList<GPTBlock>>())) {
  for (std::int64_t i = 0; i < options.layers; ++i) {
    blocks_->push_back(std::make_shared<GPTBlock>(options));
  }
  ln_f_ = register_module("ln_f", std::make_shared<nn::LayerNorm>(
                                      hvd::autograd::Dims{options.width}));
}

Tensor GPT::forward(const Tensor& tokens) {
  const Tensor positions = hvd::arange(0, static_cast<double>(tokens.size(1)));
  Tensor x = (*wte_)(tokens) + (*wpe_)(positions);
  for (const auto& block : *blocks_) x = (*block)(x);
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
