// SPDX-License-Identifier: Apache-2.0
#include "models/vision/densenet.h"

#include <horovodpp/ops.h>

#include <algorithm>
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

// Backward of a convolution needs only its input. So a region that ends with
// one recomputes only the part before it.
Tensor DenseLayer::bottleneck(const Tensor& x, bool leanly) {
  return recompute_if(
      leanly,
      [this](const Tensor& in) { return (*conv1_)(relu((*norm1_)(in))); }, x);
}

Tensor DenseLayer::grow(const Tensor& x, bool leanly) {
  const Tensor y = recompute_if(
      leanly,
      [this](const Tensor& in) { return (*conv2_)(relu((*norm2_)(in))); }, x);
  return hvd::dropout(y, dropout_, is_training());
}

Tensor DenseLayer::append(const Tensor& x, bool leanly) {
  return hvd::cat({x, grow(bottleneck(x, leanly), leanly)}, 1);
}

Tensor DenseLayer::forward(const Tensor& x) {
  return grow(bottleneck(x, false), false);
}

hvd::ChainStage DenseLayer::stage() {
  return {[this](const Tensor& x) { return append(x, false); },
          {[this](const Tensor& x) { return append(x, true); }}};
}

Tensor DenseLayer::run_efficiently(const std::vector<Tensor>& features,
                                   bool leanly) {
  const auto join = [this](const std::vector<Tensor>& parts) {
    return bottleneck(hvd::cat(parts, 1), false);
  };
  const bool is_frozen =
      std::none_of(features.begin(), features.end(),
                   [](const Tensor& x) { return x.requires_grad(); });
  return grow(is_frozen ? join(features) : hvd::checkpoint(join, features),
              leanly);
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
  Tensor features = x;
  for (const auto& layer : *layers_) {
    features = hvd::cat({features, (*layer)(features)}, 1);
  }
  return features;
}

Tensor DenseBlock::run_efficiently(const Tensor& x, bool leanly) {
  std::vector<Tensor> features = {x};
  for (const auto& layer : *layers_) {
    features.push_back(layer->run_efficiently(features, leanly));
  }
  return hvd::cat(features, 1);
}

std::vector<hvd::ChainStage> DenseBlock::stages() {
  std::vector<hvd::ChainStage> stages;
  for (const auto& layer : *layers_) stages.push_back(layer->stage());
  return stages;
}

Transition::Transition(std::int64_t inputs, std::int64_t outputs)
    : norm_(register_module("norm", norm(inputs))),
      conv_(register_module("conv", conv(inputs, outputs, 1))) {}

Tensor Transition::run(const Tensor& x, bool leanly) {
  const Tensor y = recompute_if(
      leanly, [this](const Tensor& in) { return (*conv_)(relu((*norm_)(in))); },
      x);
  return hvd::avg_pool2d(y, {.kernel = 2});
}

Tensor Transition::forward(const Tensor& x) { return run(x, false); }

DenseNetBC::DenseNetBC(const DenseNetOptions& options)
    : conv0_(register_module("conv0",
                             conv(options.channels, 2 * options.growth, 3))) {
  add_stage({[this](const Tensor& images) { return (*conv0_)(images); }});
  std::int64_t features = 2 * options.growth;
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    const auto block =
        std::make_shared<DenseBlock>(features, options.layers[i], options);
    blocks_.push_back(register_module("block" + number, block));
    add_block(block->stages());
    features += options.layers[i] * options.growth;
    if (i + 1 == options.layers.size()) break;
    const auto transition =
        std::make_shared<Transition>(features, features / 2);
    transitions_.push_back(register_module("transition" + number, transition));
    add_stage(
        {[transition](const Tensor& x) { return transition->run(x, false); },
         {[transition](const Tensor& x) { return transition->run(x, true); }}});
    features /= 2;
  }
  norm_ = register_module("norm", norm(features));
  classifier_ = register_module(
      "classifier", std::make_shared<nn::Linear>(features, options.classes));
  add_stage({[this](const Tensor& x) { return classify(x); }});
}

Tensor DenseNetBC::classify(const Tensor& x) {
  const Tensor y = hvd::adaptive_avg_pool2d(relu((*norm_)(x)), 1);
  return (*classifier_)(y.reshape({x.size(0), -1}));
}

Tensor DenseNetBC::run_blocks(const Tensor& images, bool leanly) {
  Tensor x = (*conv0_)(images);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i]->run_efficiently(x, leanly);
    if (i < transitions_.size()) x = transitions_[i]->run(x, leanly);
  }
  return classify(x);
}

}  // namespace models
