// SPDX-License-Identifier: Apache-2.0
// GPT is a transformer that predicts the next byte, as in GPT-2 (Radford et al.
// 2019). The last product shares its weight with the embedding.
//
//   models::GPT model({.width = 128, .context = 128});
//   hvd::Tensor logits = model(tokens);  // int64 [n, t] -> [n, t, 256]
#pragma once

#include <horovodpp/nn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "models/chain_model.h"
#include "models/transformer_block.h"

namespace models {

struct GPTOptions {
  std::int64_t width = 128;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t context = 128;  // The most tokens.
  std::int64_t vocabulary = 256;
  double dropout = 0.0;
};

// [n, t, width] -> the same
class GPTBlock : public TransformerBlock {
 public:
  explicit GPTBlock(const GPTOptions& options);

 private:
  hvd::Tensor add_attention(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor add_mlp(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor attend(const hvd::Tensor& qkv) const;

  const std::int64_t heads_;
  const double dropout_;
  std::shared_ptr<hvd::nn::LayerNorm> ln_1_;
  std::shared_ptr<hvd::nn::Linear> qkv_;
  std::shared_ptr<hvd::nn::Linear> proj_;
  std::shared_ptr<hvd::nn::LayerNorm> ln_2_;
  std::shared_ptr<hvd::nn::Linear> fc_;
  std::shared_ptr<hvd::nn::Linear> fc_out_;
};

// int64 [n, t] -> [n, t, vocabulary], t at most the context.
class GPT : public ChainModel {
 public:
  explicit GPT(const GPTOptions& options = {});

  // Initializes weights as in GPT-2: normal with a deviation of 0.02, less for
  // those that feed the residual, biases 0. (The constructor's are PyTorch's.)
  void reset_parameters();

 private:
  hvd::Tensor embed(const hvd::Tensor& tokens);
  hvd::Tensor predict(const hvd::Tensor& x);

  const GPTOptions options_;
  std::shared_ptr<hvd::nn::Embedding> wte_;
  std::shared_ptr<hvd::nn::Embedding> wpe_;
  std::shared_ptr<hvd::nn::ModuleList<GPTBlock>> blocks_;
  std::shared_ptr<hvd::nn::LayerNorm> ln_f_;
};

}  // namespace models
