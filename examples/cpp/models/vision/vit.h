// SPDX-License-Identifier: Apache-2.0
// Vit is a vision transformer (Dosovitskiy et al. 2021): patches of an image as
// tokens, and a class token that attends to them. Its parameters have
// torchvision's names.
//
//   models::Vit model({.width = 64});
//   hvd::Tensor logits = model(images);  // [n, 1, 28, 28] -> [n, 10]
#pragma once

#include <horovodpp/nn.h>

#include <cstdint>
#include <memory>

#include "models/chain_model.h"
#include "models/transformer_block.h"

namespace models {

struct VitOptions {
  std::int64_t width = 64;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t hidden = 0;  // 0: four times the width.
  std::int64_t patch = 4;   // Divides the image.
  std::int64_t image = 28;
  std::int64_t channels = 1;
  std::int64_t classes = 10;
  double dropout = 0.0;
};

// [n, t, width] -> the same
class VitBlock : public TransformerBlock {
 public:
  explicit VitBlock(const VitOptions& options);

 private:
  hvd::Tensor add_attention(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor add_mlp(const hvd::Tensor& x, Lean lean) override;

  const double dropout_;
  std::shared_ptr<hvd::nn::LayerNorm> ln_1_;
  std::shared_ptr<hvd::nn::MultiheadAttention> self_attention_;
  std::shared_ptr<hvd::nn::LayerNorm> ln_2_;
  std::shared_ptr<hvd::nn::Linear> fc_;
  std::shared_ptr<hvd::nn::Linear> fc_out_;
};

// [n, channels, image, image] -> [n, classes]
class Vit : public ChainModel {
 public:
  explicit Vit(const VitOptions& options = {});

 private:
  hvd::Tensor embed(const hvd::Tensor& images);
  hvd::Tensor classify(const hvd::Tensor& x);

  const VitOptions options_;
  std::shared_ptr<hvd::nn::Conv2d> conv_proj_;
  hvd::Tensor class_token_;
  hvd::Tensor positions_;
  std::shared_ptr<hvd::nn::LayerNorm> ln_;
  std::shared_ptr<hvd::nn::Linear> head_;
};

}  // namespace models
