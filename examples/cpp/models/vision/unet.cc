// SPDX-License-Identifier: Apache-2.0
#include "models/vision/unet.h"

#include <horovodpp/autograd.h>
#include <horovodpp/autograd/graph/error.h>

#include <cmath>
#include <vector>

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

namespace {

// The time embedding is this much wider than the largest scale.
constexpr std::int64_t kTimeWidth = 4;
constexpr double kTimeScale = 1000.0;
constexpr double kTimeBase = 10000.0;

std::shared_ptr<nn::Conv2d> unet_conv(std::int64_t inputs, std::int64_t outputs,
                                      std::int64_t kernel,
                                      std::int64_t stride = 1) {
  return std::make_shared<nn::Conv2d>(
      inputs, outputs, kernel,
      nn::Conv2dOptions{.stride = stride, .padding = kernel / 2});
}

std::shared_ptr<nn::GroupNorm> group_norm_of(std::int64_t channels,
                                             const UNetOptions& options) {
  return std::make_shared<nn::GroupNorm>(options.groups, channels);
}

Tensor doubled(const Tensor& x) { return hvd::interpolate(x, {.scale = {2}}); }

}  // namespace

UNetBlock::UNetBlock(std::int64_t inputs, std::int64_t outputs,
                     const UNetOptions& options)
    : norm1_(register_module("norm1", group_norm_of(inputs, options))),
      conv1_(register_module("conv1", unet_conv(inputs, outputs, 3))),
      time_(register_module("time", std::make_shared<nn::Linear>(
                                        kTimeWidth * options.width, outputs))),
      norm2_(register_module("norm2", group_norm_of(outputs, options))),
      conv2_(register_module("conv2", unet_conv(outputs, outputs, 3))) {
  if (inputs == outputs) return;
  shortcut_ = register_module("shortcut", unet_conv(inputs, outputs, 1));
}

Tensor UNetBlock::forward(const Tensor& /*x*/) {
  throw hvd::InvalidArgument("a UNetBlock takes x and a time; call run()");
}

Tensor UNetBlock::compute(const Tensor& x, const Tensor& time) {
  const Tensor shift = (*time_)(time).unsqueeze(-1).unsqueeze(-1);
  const Tensor y = (*conv1_)(hvd::silu((*norm1_)(x))) + shift;
  const Tensor z = (*conv2_)(hvd::silu((*norm2_)(y)));
  return z + (shortcut_ == nullptr ? x : (*shortcut_)(x));
}

Tensor UNetBlock::run(const Tensor& x, const Tensor& time, bool leanly) {
  if (!leanly) return compute(x, time);
  return hvd::checkpoint(
      [this](const Tensor& in, const Tensor& at) { return compute(in, at); }, x,
      time);
}

UNet::UNet(const UNetOptions& options) : options_(options) {
  const std::int64_t w = options.width;
  const auto linear = [](std::int64_t inputs, std::int64_t outputs) {
    return std::make_shared<nn::Linear>(inputs, outputs);
  };
  const auto block = [&](std::int64_t inputs, std::int64_t outputs) {
    return std::make_shared<UNetBlock>(inputs, outputs, options);
  };
  time1_ = register_module("time1", linear(w, kTimeWidth * w));
  time2_ = register_module("time2", linear(kTimeWidth * w, kTimeWidth * w));
  stem_ = register_module("stem", unet_conv(1, w, 3));
  down1_ = register_module("down1", block(w, w));
  halve1_ = register_module("halve1", unet_conv(w, w, 3, 2));
  down2_ = register_module("down2", block(w, 2 * w));
  halve2_ = register_module("halve2", unet_conv(2 * w, 2 * w, 3, 2));
  middle_ = register_module("middle", block(2 * w, 2 * w));
  up2_ = register_module("up2", block(4 * w, 2 * w));
  up1_ = register_module("up1", block(3 * w, w));
  norm_ = register_module("norm", group_norm_of(w, options));
  head_ = register_module("head", unet_conv(w, 1, 3));
  add_block({{[this](const Tensor& x) { return features(x, false); },
              {[this](const Tensor& x) { return features(x, true); }}}});
  add_stage({[this](const Tensor& x) { return predict(x); }});
}

// Sines and cosines of the time, and two layers: [n, 2, h, w] -> [n, 4 width].
Tensor UNet::embed_time(const Tensor& input) {
  const std::int64_t half = options_.width / 2;
  std::vector<double> steps;
  for (std::int64_t i = 0; i < half; ++i) {
    steps.push_back(std::pow(
        kTimeBase, -static_cast<double>(i) / static_cast<double>(half)));
  }
  const Tensor time = input.select(1, 1).select(1, 0).narrow(1, 0, 1);
  const Tensor angles =
      time * kTimeScale * hvd::from_vector(steps, {half}).to(input.dtype());
  const Tensor waves = hvd::cat({hvd::sin(angles), hvd::cos(angles)}, 1);
  return hvd::silu((*time2_)(hvd::silu((*time1_)(waves))));
}

Tensor UNet::features(const Tensor& input, bool leanly) {
  const Tensor time = embed_time(input);
  const Tensor x = (*stem_)(input.narrow(1, 0, 1));
  const Tensor large = down1_->run(x, time, leanly);
  const Tensor medium = down2_->run((*halve1_)(large), time, leanly);
  Tensor y = middle_->run((*halve2_)(medium), time, leanly);
  y = up2_->run(hvd::cat({doubled(y), medium}, 1), time, leanly);
  return up1_->run(hvd::cat({doubled(y), large}, 1), time, leanly);
}

Tensor UNet::predict(const Tensor& x) {
  return (*head_)(hvd::silu((*norm_)(x)));
}

Tensor UNet::run_blocks(const Tensor& input, bool /*leanly*/) {
  return predict(features(input, true));
}

}  // namespace models
