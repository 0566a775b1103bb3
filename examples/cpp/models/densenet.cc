// SPDX-License-Identifier: Apache-2.0
#include "models/densenet.h"

#include <horovodpp/ops.h>

#include <string>

namespace models {
namespace {

namespace nn = hvd::nn;

std::shared_ptr<nn::Conv2d> conv(std::int64_t inputs, std::int64_t outputs,
                                 std::int64_t kernel) {
  return std::make_shared<nn::Conv2d>(
      inputs, outputs, kernel,
      nn::Conv2dOptions{.padding = kernel / 2, .bias = false});
}

std::shared_ptr<nn::BatchNorm2d> norm(std::int64_t features) {
  return std::make_shared<nn::BatchNorm2d>(features);
}

}  // namespace

using hvd::relu;
using hvd::Tensor;

DenseLayer::DenseLayer(std::int64_t inputs, const DenseNetOptions& options)
    : dropout_(options.dropout),
      norm1_(register_module("norm1", norm(inputs))),
      conv1_(register_module("conv1", conv(inputs, 4 * options.growth, 1))),
      norm2_(register_module("norm2", norm(4 * options.growth))),
      conv2_(register_module("conv2",
                             conv(4 * options.growth, options.growth, 3))) {}

Tensor DenseLayer::forward(const Tensor& x) {
  const Tensor y = (*conv1_)(relu((*norm1_)(x)));
  return hvd::dropout((*conv2_)(relu((*norm2_)(y))), dropout_, is_training());
}

DenseBlock::DenseBlock(std::int64_t inputs, std::int64_t layers,
                       const DenseNetOptions& options)
    : layers_(register_module("layers",
                              std::make_shared<nn::ModuleList<DenseLayer>>())) {
  for (std::int64_t i = 0; i < layers; ++i) {
    layers_->push_back(
        std::make_shared<DenseLayer>(inputs + i * options.growth, options));
  }
}

Tensor DenseBlock::forward(const Tensor& x) {
  std::vector<Tensor> features = {x};
  for (const auto& layer : *layers_) {
    features.push_back((*layer)(hvd::cat(features, 1)));
  }
  return hvd::cat(features, 1);
}

Transition::Transition(std::int64_t inputs, std::int64_t outputs)
    : norm_(register_module("norm", norm(inputs))),
      conv_(register_module("conv", conv(inputs, outputs, 1))) {}

Tensor Transition::forward(const Tensor& x) {
  return hvd::avg_pool2d((*conv_)(relu((*norm_)(x))), {.kernel = 2});
}

DenseNetBC::DenseNetBC(const DenseNetOptions& options)
    : conv0_(register_module("conv0",
                             conv(options.channels, 2 * options.growth, 3))) {
  std::int64_t features = 2 * options.growth;
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    stages_.push_back(register_module(
        "block" + number,
        std::make_shared<DenseBlock>(features, options.layers[i], options)));
    features += options.layers[i] * options.growth;
    if (i + 1 == options.layers.size()) break;
    stages_.push_back(
        register_module("transition" + number,
                        std::make_shared<Transition>(features, features / 2)));
    features /= 2;
  }
  norm_ = register_module("norm", norm(features));
  classifier_ = register_module(
      "classifier", std::make_shared<nn::Linear>(features, options.classes));
}

Tensor DenseNetBC::forward(const Tensor& images) {
  Tensor x = (*conv0_)(images);
  for (const auto& stage : stages_) x = (*stage)(x);
  x = hvd::adaptive_avg_pool2d(relu((*norm_)(x)), 1);
  return (*classifier_)(x.reshape({x.size(0), -1}));
}

}  // namespace models
