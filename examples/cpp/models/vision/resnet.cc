// SPDX-License-Identifier: Apache-2.0
#include "models/vision/resnet.h"

#include <horovodpp/ops.h>

#include <string>
#include <utility>
#include <vector>

namespace models {
namespace {

namespace nn = hvd::nn;

std::shared_ptr<nn::Conv2d> conv(std::int64_t inputs, std::int64_t outputs,
                                 std::int64_t kernel, std::int64_t stride) {
  return std::make_shared<nn::Conv2d>(
      inputs, outputs, kernel,
      nn::Conv2dOptions{
          .stride = stride, .padding = kernel / 2, .bias = false});
}

std::shared_ptr<nn::BatchNorm2d> norm_of(std::int64_t features) {
  return std::make_shared<nn::BatchNorm2d>(features);
}

// Null if the input can be added as it is.
std::shared_ptr<nn::Sequential> shortcut_of(std::int64_t inputs,
                                            std::int64_t outputs,
                                            std::int64_t stride) {
  if (stride == 1 && inputs == outputs) return nullptr;
  return std::make_shared<nn::Sequential>(conv(inputs, outputs, 1, stride),
                                          norm_of(outputs));
}

}  // namespace

using hvd::relu;
using hvd::Tensor;

BasicBlock::BasicBlock(std::int64_t inputs, std::int64_t outputs,
                       std::int64_t stride)
    : conv1_(register_module("conv1", conv(inputs, outputs, 3, stride))),
      bn1_(register_module("bn1", norm_of(outputs))),
      conv2_(register_module("conv2", conv(outputs, outputs, 3, 1))),
      bn2_(register_module("bn2", norm_of(outputs))),
      downsample_(shortcut_of(inputs, outputs, stride)) {
  if (downsample_ != nullptr) register_module("downsample", downsample_);
}

// Backward of a convolution needs only its input. So a region that ends with
// one recomputes only the part before it.
Tensor BasicBlock::run(const Tensor& x, bool leanly) {
  const Tensor y = recompute_if(
      leanly, [this](const Tensor& in) { return (*conv2_)(relu((*bn1_)(in))); },
      (*conv1_)(x));
  const Tensor shortcut = downsample_ == nullptr ? x : (*downsample_)(x);
  return relu((*bn2_)(y) + shortcut);
}

Tensor BasicBlock::forward(const Tensor& x) { return run(x, false); }

hvd::ChainStage BasicBlock::stage() {
  return {[this](const Tensor& x) { return run(x, false); },
          {[this](const Tensor& x) { return run(x, true); }}};
}

Bottleneck::Bottleneck(std::int64_t inputs, std::int64_t width,
                       std::int64_t stride)
    : conv1_(register_module("conv1", conv(inputs, width, 1, 1))),
      bn1_(register_module("bn1", norm_of(width))),
      conv2_(register_module("conv2", conv(width, width, 3, stride))),
      bn2_(register_module("bn2", norm_of(width))),
      conv3_(register_module("conv3", conv(width, 4 * width, 1, 1))),
      bn3_(register_module("bn3", norm_of(4 * width))),
      downsample_(shortcut_of(inputs, 4 * width, stride)) {
  if (downsample_ != nullptr) register_module("downsample", downsample_);
}

Tensor Bottleneck::run(const Tensor& x, Lean lean) {
  const auto narrow = [this](const Tensor& in) {
    return (*conv2_)(relu((*bn1_)(in)));
  };
  const auto from_start = [this, narrow, lean](const Tensor& in) {
    return recompute_if(lean != Lean::kNot && lean != Lean::kNarrow, narrow,
                        (*conv1_)(in));
  };
  const Tensor y = recompute_if(lean >= Lean::kNarrow, from_start, x);
  const auto widen = [this](const Tensor& in) {
    return (*conv3_)(relu((*bn2_)(in)));
  };
  const auto to_end = [this, widen, lean](const Tensor& in) {
    return (*bn3_)(
        recompute_if(lean == Lean::kNorms || lean == Lean::kPieces, widen, in));
  };
  const Tensor z = recompute_if(lean >= Lean::kWide, to_end, y);
  if (downsample_ == nullptr) return relu(z + x);
  return relu(z + recompute_if(
                      lean >= Lean::kWide,
                      [this](const Tensor& in) { return (*downsample_)(in); },
                      x));
}

Tensor Bottleneck::forward(const Tensor& x) { return run(x, Lean::kNot); }

hvd::ChainStage Bottleneck::stage() {
  const auto way = [this](Lean lean) {
    return [this, lean](const Tensor& x) { return run(x, lean); };
  };
  return {way(Lean::kNot),
          {way(Lean::kNorms), way(Lean::kWide), way(Lean::kNarrow),
           way(Lean::kPieces)}};
}

template <typename Make>
void ResNet::build(const ResNetOptions& options,
                   const std::array<std::int64_t, 4>& counts,
                   std::int64_t features, const Make& make) {
  conv1_ =
      register_module("conv1", conv(options.channels, options.width, 3, 1));
  bn1_ = register_module("bn1", norm_of(options.width));
  add_stage({[this](const Tensor& images) { return stem(images, false); },
             {[this](const Tensor& images) { return stem(images, true); }}});
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::vector<std::shared_ptr<nn::Module>> blocks;
    for (std::int64_t b = 0; b < counts[i]; ++b) {
      const auto block = make(i, b == 0 && i > 0 ? 2 : 1);
      add_block({block->stage()});
      blocks.push_back(block);
    }
    register_module("layer" + std::to_string(i + 1),
                    std::make_shared<nn::Sequential>(std::move(blocks)));
  }
  fc_ = register_module(
      "fc", std::make_shared<nn::Linear>(features, options.classes));
  add_stage({[this](const Tensor& x) { return classify(x); }});
}

Tensor ResNet::stem(const Tensor& images, bool leanly) {
  return recompute_if(
      leanly,
      [this](const Tensor& in) {
        return hvd::max_pool2d(relu((*bn1_)(in)), {.kernel = 2});
      },
      (*conv1_)(images));
}

Tensor ResNet::classify(const Tensor& x) {
  return (*fc_)(hvd::adaptive_avg_pool2d(x, 1).reshape({x.size(0), -1}));
}

ResNet18::ResNet18(const ResNetOptions& options) {
  std::int64_t inputs = options.width;
  build(options, {2, 2, 2, 2}, options.width << 3,
        [&](std::size_t layer, std::int64_t stride) {
          const std::int64_t from = inputs;
          inputs = options.width << layer;
          return std::make_shared<BasicBlock>(from, inputs, stride);
        });
}

ResNet50::ResNet50(const ResNetOptions& options) {
  std::int64_t inputs = options.width;
  build(options, {3, 4, 6, 3}, options.width << 5,
        [&](std::size_t layer, std::int64_t stride) {
          const std::int64_t from = inputs;
          const std::int64_t width = options.width << layer;
          inputs = 4 * width;
          return std::make_shared<Bottleneck>(from, width, stride);
        });
}

}  // namespace models
