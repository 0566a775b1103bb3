// SPDX-License-Identifier: Apache-2.0
// ResNet-18 and ResNet-50 (He et al. 2016) for small images: a 3x3 stem,
// followed by a 2x2 pooling.
//
//   models::ResNet18 model({.width = 32});
//   hvd::Tensor logits = model(images);  // [n, 1, 28, 28] -> [n, 10]
#pragma once

#include <horovodpp/nn.h>

#include <array>
#include <cstdint>
#include <memory>

#include "models/chain_model.h"

namespace models {

// Two convolutions whose output is added to the input.
class BasicBlock : public hvd::nn::Module {
 public:
  BasicBlock(std::int64_t inputs, std::int64_t outputs, std::int64_t stride);

  hvd::Tensor forward(const hvd::Tensor& x) override;
  // Leaner: recomputes norms.
  hvd::ChainStage stage();

 private:
  hvd::Tensor run(const hvd::Tensor& x, bool leanly);

  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn1_;
  std::shared_ptr<hvd::nn::Conv2d> conv2_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn2_;
  std::shared_ptr<hvd::nn::Sequential> downsample_;  // Null: the input fits.
};

// Three convolutions: to a quarter of the channels, 3x3, and back.
class Bottleneck : public hvd::nn::Module {
 public:
  Bottleneck(std::int64_t inputs, std::int64_t width, std::int64_t stride);

  hvd::Tensor forward(const hvd::Tensor& x) override;
  // Leaner options recompute more, in this order: norms; the last convolution
  // and the shortcut, with large and cheap outputs; the first convolution; the
  // same in nested regions.
  hvd::ChainStage stage();

 private:
  enum class Lean { kNot, kNorms, kWide, kNarrow, kPieces };
  hvd::Tensor run(const hvd::Tensor& x, Lean lean);

  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn1_;
  std::shared_ptr<hvd::nn::Conv2d> conv2_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn2_;
  std::shared_ptr<hvd::nn::Conv2d> conv3_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn3_;
  std::shared_ptr<hvd::nn::Sequential> downsample_;  // Null: the input fits.
};

struct ResNetOptions {
  std::int64_t width = 64;  // Channels of the stem.
  std::int64_t channels = 1;
  std::int64_t classes = 10;
};

// float [n, channels, h, w] -> [n, classes]
class ResNet : public ChainModel {
 protected:
  // `make(layer, stride)` returns the next block of layer number `layer`, from
  // 0.
  template <typename Make>
  void build(const ResNetOptions& options,
             const std::array<std::int64_t, 4>& counts, std::int64_t features,
             const Make& make);

 private:
  hvd::Tensor stem(const hvd::Tensor& images, bool leanly);
  hvd::Tensor classify(const hvd::Tensor& x);

  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn1_;
  std::shared_ptr<hvd::nn::Linear> fc_;
};

class ResNet18 : public ResNet {
 public:
  explicit ResNet18(const ResNetOptions& options = {});
};

class ResNet50 : public ResNet {
 public:
  explicit ResNet50(const ResNetOptions& options = {});
};

}  // namespace models
