// SPDX-License-Identifier: Apache-2.0
// Swin (Liu et al. 2021) is a transformer with attention within windows of the
// image; every second block shifts the windows by half a window.
//
//   models::Swin model;                  // Patches of 2x2, windows of 7x7.
//   hvd::Tensor logits = model(images);  // [n, 1, 28, 28] -> [n, 10]
#pragma once

#include <horovodpp/nn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "models/chain_model.h"
#include "models/transformer_block.h"

namespace models {

struct SwinOptions {
  std::int64_t width = 48;  // Of the first stage; doubles with each stage.
  // Of the first stage; doubles, too, as the resolution halves.
  std::int64_t heads = 3;
  std::vector<std::int64_t> depths = {2, 2};  // The blocks of each stage.
  std::int64_t window = 7;
  std::int64_t image = 28;
  std::int64_t patch = 2;
  std::int64_t classes = 10;
  // The chance that training skips the last block for a sample (stochastic
  // depth, Huang et al. 2016); earlier blocks have a smaller one.
  double drop_path = 0.0;
};

struct SwinBlockOptions {
  std::int64_t width = 48;
  std::int64_t heads = 3;
  std::int64_t size = 14;  // Of the image, in patches.
  std::int64_t window = 7;
  std::int64_t shift = 0;
  double drop_path = 0.0;
};

// [n, size, size, width] -> the same
class SwinBlock : public TransformerBlock {
 public:
  explicit SwinBlock(const SwinBlockOptions& options);

 private:
  hvd::Tensor add_attention(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor add_mlp(const hvd::Tensor& x, Lean lean) override;
  hvd::Tensor shifted(const hvd::Tensor& x, std::int64_t shift) const;
  hvd::Tensor to_windows(const hvd::Tensor& x) const;
  hvd::Tensor from_windows(const hvd::Tensor& x, std::int64_t images) const;
  hvd::Tensor relative_index() const;
  hvd::Tensor shift_mask() const;
  hvd::Tensor attend(const hvd::Tensor& qkv) const;

  SwinBlockOptions options_;
  hvd::Tensor bias_table_;  // For each offset between two patches, and head.
  hvd::Tensor index_;       // The row for each pair of patches of a window.
  hvd::Tensor mask_;        // Undefined: not shifted.
  std::shared_ptr<hvd::nn::LayerNorm> norm1_;
  std::shared_ptr<hvd::nn::Linear> qkv_;
  std::shared_ptr<hvd::nn::Linear> proj_;
  std::shared_ptr<hvd::nn::LayerNorm> norm2_;
  std::shared_ptr<hvd::nn::Linear> fc1_;
  std::shared_ptr<hvd::nn::Linear> fc2_;
};

// Merges 2x2 patches into one of twice the width.
class PatchMerging : public hvd::nn::Module {
 public:
  explicit PatchMerging(std::int64_t width);

  hvd::Tensor forward(const hvd::Tensor& x) override;

 private:
  std::shared_ptr<hvd::nn::LayerNorm> norm_;
  std::shared_ptr<hvd::nn::Linear> reduction_;
};

// float [n, 1, image, image] -> [n, classes]
class Swin : public ChainModel {
 public:
  explicit Swin(const SwinOptions& options = {});

 private:
  hvd::Tensor embed(const hvd::Tensor& images);
  hvd::Tensor classify(const hvd::Tensor& x);

  std::shared_ptr<hvd::nn::Conv2d> patch_embed_;
  std::shared_ptr<hvd::nn::LayerNorm> norm0_;
  std::shared_ptr<hvd::nn::ModuleList<hvd::nn::Sequential>> stages_;
  std::shared_ptr<hvd::nn::ModuleList<PatchMerging>> merges_;
  std::shared_ptr<hvd::nn::LayerNorm> norm_;
  std::shared_ptr<hvd::nn::Linear> head_;
};

}  // namespace models
