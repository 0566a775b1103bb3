// SPDX-License-Identifier: Apache-2.0
// ResNet-18 (He et al. 2016) for small images: a stem of 3x3, and a pooling by 2
// behind it.
//
//   models::ResNet18 model({.width = 32});
//   hvd::Tensor logits = model(images);  // [n, 1, 28, 28] -> [n, 10]
#pragma once

#include <horovodpp/nn/nn.h>

#include <array>
#include <memory>

namespace models {

// Two convolutions, and the input added to what they make of it.
class BasicBlock : public hvd::nn::Module {
 public:
  BasicBlock(std::int64_t inputs, std::int64_t outputs, std::int64_t stride);

  hvd::Tensor forward(const hvd::Tensor& x) override;

 private:
  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn1_;
  std::shared_ptr<hvd::nn::Conv2d> conv2_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn2_;
  std::shared_ptr<hvd::nn::Sequential> downsample_;  // Null: the input fits.
};

struct ResNetOptions {
  std::int64_t width = 64;  // Channels at the beginning.
  std::int64_t channels = 1;
  std::int64_t classes = 10;
};

class ResNet18 : public hvd::nn::Module {
 public:
  explicit ResNet18(const ResNetOptions& options = {});

  // float [n, channels, h, w] -> [n, classes]
  hvd::Tensor forward(const hvd::Tensor& images) override;

 private:
  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::BatchNorm2d> bn1_;
  std::array<std::shared_ptr<hvd::nn::Sequential>, 4> layers_;
  std::shared_ptr<hvd::nn::Linear> fc_;
};

}  // namespace models
