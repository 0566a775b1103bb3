// SPDX-License-Identifier: Apache-2.0
#include "models/language/bert.h"

#include <horovodpp/autograd.h>

#include <string>

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

namespace {

std::shared_ptr<nn::Linear> bert_linear(std::int64_t inputs,
                                        std::int64_t outputs) {
  return std::make_shared<nn::Linear>(inputs, outputs);
}

std::shared_ptr<nn::LayerNorm> bert_norm(const BertOptions& options) {
  return std::make_shared<nn::LayerNorm>(
      hvd::autograd::Dims{options.width},
      nn::LayerNormOptions{.eps = options.eps});
}

std::int64_t bert_hidden(const BertOptions& options) {
  return options.hidden > 0 ? options.hidden : 4 * options.width;
}

}  // namespace

BertLayer::Attention::Attention(const BertOptions& options)
    : query(bert_linear(options.width, options.width)),
      key(bert_linear(options.width, options.width)),
      value(bert_linear(options.width, options.width)),
      dense(bert_linear(options.width, options.width)),
      norm(bert_norm(options)) {
  register_module(
      "self",
      NamedPart::of({{"query", query}, {"key", key}, {"value", value}}));
  register_module("output",
                  NamedPart::of({{"dense", dense}, {"LayerNorm", norm}}));
}

BertLayer::BertLayer(const BertOptions& options)
    : heads_(options.heads),
      dropout_(options.dropout),
      attention_(
          register_module("attention", std::make_shared<Attention>(options))),
      intermediate_(bert_linear(options.width, bert_hidden(options))),
      dense_(bert_linear(bert_hidden(options), options.width)),
      norm_(bert_norm(options)) {
  register_module("intermediate", NamedPart::of({{"dense", intermediate_}}));
  register_module("output",
                  NamedPart::of({{"dense", dense_}, {"LayerNorm", norm_}}));
}

// [n, t, width] -> the same
Tensor BertLayer::attend(const Tensor& x) const {
  const std::int64_t n = x.size(0);
  const std::int64_t t = x.size(1);
  const auto heads = [&](const Tensor& y) {
    return y.reshape({n, t, heads_, y.size(2) / heads_}).transpose(1, 2);
  };
  const Tensor y = hvd::scaled_dot_product_attention(
      heads((*attention_->query)(x)), heads((*attention_->key)(x)),
      heads((*attention_->value)(x)));
  return (*attention_->dense)(y.transpose(1, 2).reshape(x.shape()));
}

Tensor BertLayer::add_attention(const Tensor& x, Lean lean) {
  const Tensor y = recompute_if(
      lean >= Lean::kAttention, [this](const Tensor& in) { return attend(in); },
      x);
  return (*attention_->norm)(x + hvd::dropout(y, dropout_, is_training()));
}

Tensor BertLayer::add_mlp(const Tensor& x, Lean lean) {
  const Tensor y = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) { return (*dense_)(hvd::gelu(in)); },
      (*intermediate_)(x));
  return (*norm_)(x + hvd::dropout(y, dropout_, is_training()));
}

Bert::Bert(const BertOptions& options)
    : options_(options),
      words_(
          std::make_shared<nn::Embedding>(options.vocabulary, options.width)),
      positions_(
          std::make_shared<nn::Embedding>(options.context, options.width)),
      types_(std::make_shared<nn::Embedding>(2, options.width)),
      norm_(bert_norm(options)),
      transform_(bert_linear(options.width, options.width)),
      transform_norm_(bert_norm(options)) {
  const auto layers = std::make_shared<nn::ModuleList<BertLayer>>();
  add_stage({[this](const Tensor& tokens) { return embed(tokens); }});
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers->push_back(std::make_shared<BertLayer>(options));
    add_block((*layers)[layers->size() - 1].stages());
  }
  add_stage({[this](const Tensor& x) { return predict(x); }});
  const auto embeddings = NamedPart::of({{"word_embeddings", words_},
                                         {"position_embeddings", positions_},
                                         {"token_type_embeddings", types_},
                                         {"LayerNorm", norm_}});
  register_module(
      "bert", NamedPart::of({{"embeddings", embeddings},
                             {"encoder", NamedPart::of({{"layer", layers}})}}));
  const auto predictions = NamedPart::of(
      {{"transform", NamedPart::of({{"dense", transform_},
                                    {"LayerNorm", transform_norm_}})}});
  bias_ = predictions->add_parameter(
      "bias", hvd::zeros({options.vocabulary}, {.requires_grad = true}));
  register_module("cls", NamedPart::of({{"predictions", predictions}}));
}

Tensor Bert::embed(const Tensor& tokens) {
  const Tensor positions = hvd::arange(0, static_cast<double>(tokens.size(1)));
  const Tensor x = (*words_)(tokens) + (*types_)(hvd::zeros_like(tokens)) +
                   (*positions_)(positions);
  return hvd::dropout((*norm_)(x), options_.dropout, is_training());
}

Tensor Bert::predict(const Tensor& x) {
  const Tensor y = (*transform_norm_)(hvd::gelu((*transform_)(x)));
  return hvd::linear(y, words_->weight(), bias_);
}

void Bert::reset_parameters() {
  for (const auto& [name, parameter] : named_parameters()) {
    if (parameter.dim() == 2) {
      nn::init::normal_(parameter, 0.0, 0.02);
    } else if (name.ends_with(".bias")) {
      nn::init::zeros_(parameter);
    }
  }
}

}  // namespace models
