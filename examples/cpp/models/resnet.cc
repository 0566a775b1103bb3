// SPDX-License-Identifier: Apache-2.0
#include "models/resnet.h"

#include <horovodpp/ops.h>

#include <string>

namespace models {
namespace {

namespace nn = hvd::nn;

std::shared_ptr<nn::Conv2d> conv3x3(std::int64_t inputs, std::int64_t outputs,
                                    std::int64_t stride) {
  return std::make_shared<nn::Conv2d>(
      inputs, outputs, 3,
      nn::Conv2dOptions{.stride = stride, .padding = 1, .bias = false});
}

std::shared_ptr<nn::BatchNorm2d> norm_of(std::int64_t features) {
  return std::make_shared<nn::BatchNorm2d>(features);
}

}  // namespace

using hvd::relu;
using hvd::Tensor;

BasicBlock::BasicBlock(std::int64_t inputs, std::int64_t outputs,
                       std::int64_t stride)
    : conv1_(register_module("conv1", conv3x3(inputs, outputs, stride))),
      bn1_(register_module("bn1", norm_of(outputs))),
      conv2_(register_module("conv2", conv3x3(outputs, outputs, 1))),
      bn2_(register_module("bn2", norm_of(outputs))) {
  if (stride == 1 && inputs == outputs) return;
  const auto conv = std::make_shared<nn::Conv2d>(
      inputs, outputs, 1, nn::Conv2dOptions{.stride = stride, .bias = false});
  downsample_ = register_module(
      "downsample", std::make_shared<nn::Sequential>(conv, norm_of(outputs)));
}

Tensor BasicBlock::forward(const Tensor& x) {
  const Tensor y = relu((*bn1_)((*conv1_)(x)));
  const Tensor shortcut = downsample_ == nullptr ? x : (*downsample_)(x);
  return relu((*bn2_)((*conv2_)(y)) + shortcut);
}

ResNet18::ResNet18(const ResNetOptions& options)
    : conv1_(register_module("conv1",
                             conv3x3(options.channels, options.width, 1))),
      bn1_(register_module("bn1", norm_of(options.width))) {
  std::int64_t inputs = options.width;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::int64_t outputs = options.width << i;
    layers_[i] = register_module(
        "layer" + std::to_string(i + 1),
        std::make_shared<nn::Sequential>(
            std::make_shared<BasicBlock>(inputs, outputs, i == 0 ? 1 : 2),
            std::make_shared<BasicBlock>(outputs, outputs, 1)));
    inputs = outputs;
  }
  fc_ = register_module("fc",
                        std::make_shared<nn::Linear>(inputs, options.classes));
}

Tensor ResNet18::forward(const Tensor& images) {
  Tensor x = relu((*bn1_)((*conv1_)(images)));
  x = hvd::max_pool2d(x, {.kernel = 2});
  for (const auto& layer : layers_) x = (*layer)(x);
  x = hvd::adaptive_avg_pool2d(x, 1);
  return (*fc_)(x.reshape({x.size(0), -1}));
}

}  // namespace models
