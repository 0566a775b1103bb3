// SPDX-License-Identifier: Apache-2.0
#include "models/vision/vit.h"

#include <horovodpp/autograd.h>

#include <string>

#include "models/named_part.h"

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

namespace {

constexpr double kPositionDeviation = 0.02;

std::shared_ptr<nn::LayerNorm> vit_norm(std::int64_t width) {
  return std::make_shared<nn::LayerNorm>(hvd::autograd::Dims{width},
                                         nn::LayerNormOptions{.eps = 1e-6});
}

}  // namespace

VitBlock::VitBlock(const VitOptions& options)
    : dropout_(options.dropout),
      ln_1_(register_module("ln_1", vit_norm(options.width))),
      self_attention_(register_module(
          "self_attention",
          std::make_shared<nn::MultiheadAttention>(
              options.width, options.heads,
              nn::MultiheadAttentionOptions{.batch_first = true}))),
      ln_2_(register_module("ln_2", vit_norm(options.width))) {
  const std::int64_t hidden =
      options.hidden > 0 ? options.hidden : 4 * options.width;
  fc_ = std::make_shared<nn::Linear>(options.width, hidden);
  fc_out_ = std::make_shared<nn::Linear>(hidden, options.width);
  // A GELU and a dropout are between them.
  register_module("mlp", NamedPart::of({{"0", fc_}, {"3", fc_out_}}));
}

Tensor VitBlock::add_attention(const Tensor& x, Lean lean) {
  const Tensor y = recompute_if(
      lean >= Lean::kAttention,
      [this](const Tensor& in) { return (*self_attention_)((*ln_1_)(in)); }, x);
  return x + hvd::dropout(y, dropout_, is_training());
}

Tensor VitBlock::add_mlp(const Tensor& x, Lean lean) {
  const Tensor wide = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) { return (*fc_)((*ln_2_)(in)); }, x);
  const Tensor y = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) {
        return (*fc_out_)(hvd::dropout(hvd::gelu(in), dropout_, is_training()));
      },
      wide);
  return x + hvd::dropout(y, dropout_, is_training());
}

Vit::Vit(const VitOptions& options)
    : options_(options),
      conv_proj_(register_module(
          "conv_proj", std::make_shared<nn::Conv2d>(
                           options.channels, options.width, options.patch,
                           nn::Conv2dOptions{.stride = options.patch}))),
      class_token_(register_parameter(
          "class_token",
          hvd::zeros({1, 1, options.width}, {.requires_grad = true}))),
      ln_(vit_norm(options.width)),
      head_(std::make_shared<nn::Linear>(options.width, options.classes)) {
  const std::int64_t side = options.image / options.patch;
  const auto layers = std::make_shared<NamedPart>();
  const auto encoder = NamedPart::of({{"layers", layers}, {"ln", ln_}});
  positions_ = encoder->add_parameter(
      "pos_embedding",
      hvd::empty({1, side * side + 1, options.width}, {.requires_grad = true}));
  nn::init::normal_(positions_, 0.0, kPositionDeviation);
  add_stage({[this](const Tensor& images) { return embed(images); }});
  for (std::int64_t i = 0; i < options.layers; ++i) {
    const auto block = std::make_shared<VitBlock>(options);
    layers->add("encoder_layer_" + std::to_string(i), block);
    add_block(block->stages());
  }
  add_stage({[this](const Tensor& x) { return classify(x); }});
  register_module("encoder", encoder);
  register_module("heads", NamedPart::of({{"head", head_}}));
}

Tensor Vit::embed(const Tensor& images) {
  const Tensor patches = (*conv_proj_)(images).reshape(
      {images.size(0), options_.width, positions_.size(1) - 1});
  const Tensor first = class_token_.expand({images.size(0), 1, options_.width});
  const Tensor x = hvd::cat({first, patches.transpose(1, 2)}, 1) + positions_;
  return hvd::dropout(x, options_.dropout, is_training());
}

Tensor Vit::classify(const Tensor& x) {
  return (*head_)((*ln_)(x.select(1, 0)));
}

}  // namespace models
