// SPDX-License-Identifier: Apache-2.0
// Bert predicts masked tokens from those on both sides (Devlin et al. 2019). Its
// parameters have the names of Hugging Face's BertForMaskedLM.
//
//   models::Bert model({.width = 128, .context = 128});
//   hvd::Tensor logits = model(tokens);  // int64 [n, t] -> [n, t, vocabulary]
#pragma once

#include <horovodpp/nn.h>

#include <cstdint>
#include <memory>

#include "models/chain_model.h"
#include "models/named_part.h"
#include "models/transformer_block.h"

namespace models {

struct BertOptions {
  std::int64_t width = 128;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t hidden = 0;        // 0: four times the width.
  std::int64_t context = 128;     // The most tokens.
  std::int64_t vocabulary = 257;  // All bytes, and the mask.
  double dropout = 0.0;
  double eps = 1e-12;  // Of the norms.
};

// [n, t, width] -> the same; norms behind each sum.
class BertLayer : public TransformerBlock {
 public:
  explicit BertLayer(const BertOptions& options);

 private:
  // Hugging Face's names: "self" and "output" within "attention".
  struct Attention : NamedPart {
    explicit Attention(const BertOptions& options);
    std::shared_ptr<hvd::nn::Linear> query, key, value, dense;
    std::shared_ptr<hvd::nn::LayerNorm> norm;
  };
  hvd::Tensor add_attention(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor add_mlp(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor attend(const hvd::Tensor& x) const;

  const std::int64_t heads_;
  const double dropout_;
  std::shared_ptr<Attention> attention_;
  std::shared_ptr<hvd::nn::Linear> intermediate_;
  std::shared_ptr<hvd::nn::Linear> dense_;
  std::shared_ptr<hvd::nn::LayerNorm> norm_;
};

// int64 [n, t] -> [n, t, vocabulary], t at most the context.
class Bert : public ChainModel {
 public:
  explicit Bert(const BertOptions& options = {});

  // Initializes weights normally with a deviation of 0.02, biases 0.
  void reset_parameters();

 private:
  hvd::Tensor embed(const hvd::Tensor& tokens);
  hvd::Tensor predict(const hvd::Tensor& x);

  const BertOptions options_;
  std::shared_ptr<hvd::nn::Embedding> words_;
  std::shared_ptr<hvd::nn::Embedding> positions_;
  std::shared_ptr<hvd::nn::Embedding> types_;
  std::shared_ptr<hvd::nn::LayerNorm> norm_;
  std::shared_ptr<hvd::nn::Linear> transform_;
  std::shared_ptr<hvd::nn::LayerNorm> transform_norm_;
  hvd::Tensor bias_;
};

}  // namespace models
