// SPDX-License-Identifier: Apache-2.0
// UNet predicts the noise in an image, given how much noise there is, as in
// denoising diffusion (Ho et al. 2020): residual blocks with group norms and a
// time embedding, on three scales, with connections across.
//
//   models::UNet model({.width = 32});
//   hvd::Tensor noise = model(x);  // [n, 2, 28, 28] -> [n, 1, 28, 28]
//
// The first channel is the noisy image. The second has the time, from 0 (no
// noise) to 1 (noise alone), in every pixel.
#pragma once

#include <horovodpp/nn.h>

#include <cstdint>
#include <memory>

#include "models/chain_model.h"

namespace models {

struct UNetOptions {
  std::int64_t width = 32;  // Channels of the largest scale.
  std::int64_t groups = 8;  // Of the norms; divides the width.
};

// x and the time embedding -> outputs of other channels.
class UNetBlock : public hvd::nn::Module {
 public:
  UNetBlock(std::int64_t inputs, std::int64_t outputs,
            const UNetOptions& options);

  //   InvalidArgument  always: a block has two inputs; use run()
  hvd::Tensor forward(const hvd::Tensor& x) override;
  // Recomputed in backward if `leanly`.
  hvd::Tensor run(const hvd::Tensor& x, const hvd::Tensor& time, bool leanly);

 private:
  hvd::Tensor compute(const hvd::Tensor& x, const hvd::Tensor& time);

  std::shared_ptr<hvd::nn::GroupNorm> norm1_;
  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::Linear> time_;
  std::shared_ptr<hvd::nn::GroupNorm> norm2_;
  std::shared_ptr<hvd::nn::Conv2d> conv2_;
  std::shared_ptr<hvd::nn::Conv2d> shortcut_;  // Null for equal channels.
};

// [n, 2, 28, 28] -> [n, 1, 28, 28]
class UNet : public ChainModel {
 public:
  explicit UNet(const UNetOptions& options = {});

 private:
  hvd::Tensor embed_time(const hvd::Tensor& input);
  hvd::Tensor features(const hvd::Tensor& input, bool leanly);
  hvd::Tensor predict(const hvd::Tensor& x);
  hvd::Tensor run_blocks(const hvd::Tensor& input, bool leanly) override;

  const UNetOptions options_;
  std::shared_ptr<hvd::nn::Linear> time1_;
  std::shared_ptr<hvd::nn::Linear> time2_;
  std::shared_ptr<hvd::nn::Conv2d> stem_;
  std::shared_ptr<UNetBlock> down1_;
  std::shared_ptr<hvd::nn::Conv2d> halve1_;
  std::shared_ptr<UNetBlock> down2_;
  std::shared_ptr<hvd::nn::Conv2d> halve2_;
  std::shared_ptr<UNetBlock> middle_;
  std::shared_ptr<UNetBlock> up2_;
  std::shared_ptr<UNetBlock> up1_;
  std::shared_ptr<hvd::nn::GroupNorm> norm_;
  std::shared_ptr<hvd::nn::Conv2d> head_;
};

}  // namespace models
