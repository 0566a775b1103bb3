// SPDX-License-Identifier: Apache-2.0
#include "models/vision/swin.h"

#include <horovodpp/autograd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace models {

namespace nn = hvd::nn;
using hvd::Slice;
using hvd::Tensor;

namespace {

std::shared_ptr<nn::LayerNorm> layer_norm(std::int64_t width) {
  return std::make_shared<nn::LayerNorm>(hvd::autograd::Dims{width});
}

std::shared_ptr<nn::Linear> linear(std::int64_t inputs, std::int64_t outputs) {
  return std::make_shared<nn::Linear>(inputs, outputs);
}

}  // namespace

SwinBlock::SwinBlock(const SwinBlockOptions& options)
    : options_(options),
      norm1_(register_module("norm1", layer_norm(options.width))),
      qkv_(register_module("qkv", linear(options.width, 3 * options.width))),
      proj_(register_module("proj", linear(options.width, options.width))),
      norm2_(register_module("norm2", layer_norm(options.width))),
      fc1_(register_module("fc1", linear(options.width, 4 * options.width))),
      fc2_(register_module("fc2", linear(4 * options.width, options.width))) {
  if (options_.size <= options_.window) options_.shift = 0;
  const std::int64_t ways = 2 * options_.window - 1;
  bias_table_ = register_parameter(
      "bias_table",
      hvd::zeros({ways * ways, options_.heads}, {.requires_grad = true}));
  index_ = register_buffer("index", relative_index(), false);
  if (options_.shift > 0) mask_ = register_buffer("mask", shift_mask(), false);
}

Tensor SwinBlock::relative_index() const {
  const std::int64_t w = options_.window;
  std::vector<std::int64_t> rows;
  for (std::int64_t from = 0; from < w * w; ++from) {
    for (std::int64_t to = 0; to < w * w; ++to) {
      const std::int64_t down = from / w - to / w + w - 1;
      const std::int64_t right = from % w - to % w + w - 1;
      rows.push_back(down * (2 * w - 1) + right);
    }
  }
  return hvd::from_vector(rows, {w * w * w * w});
}

// [n, size, size, c] -> [n windows, window^2, c]
Tensor SwinBlock::to_windows(const Tensor& x) const {
  const std::int64_t w = options_.window;
  const std::int64_t count = options_.size / w;
  return x.reshape({x.size(0), count, w, count, w, x.size(3)})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({-1, w * w, x.size(3)});
}

Tensor SwinBlock::from_windows(const Tensor& x, std::int64_t images) const {
  const std::int64_t w = options_.window;
  const std::int64_t size = options_.size;
  return x.reshape({images, size / w, size / w, w, w, x.size(2)})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({images, size, size, x.size(2)});
}

// -100 between parts of a window that are not neighbors in the image: [windows,
// window^2, window^2].
Tensor SwinBlock::shift_mask() const {
  const std::int64_t size = options_.size;
  const Tensor region = hvd::zeros({1, size, size, 1});
  const std::vector<std::pair<std::int64_t, std::int64_t>> cuts = {
      {0, size - options_.window},
      {size - options_.window, size - options_.shift},
      {size - options_.shift, size}};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      region.index_put_({Slice(), Slice(cuts[i].first, cuts[i].second),
                         Slice(cuts[j].first, cuts[j].second)},
                        static_cast<double>(3 * i + j));
    }
  }
  const Tensor of_patch = to_windows(region).squeeze(-1);
  const Tensor apart = hvd::ne(of_patch.unsqueeze(1), of_patch.unsqueeze(2));
  return hvd::masked_fill(hvd::zeros(apart.shape()), apart, -100.0);
}

// [n windows, window^2, 3 width] -> [n windows, window^2, width]
Tensor SwinBlock::attend(const Tensor& qkv) const {
  const std::int64_t w2 = options_.window * options_.window;
  const std::int64_t heads = options_.heads;
  const std::int64_t width = options_.width;
  const auto parts = qkv.reshape({-1, w2, 3, heads, width / heads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  const Tensor bias = hvd::index_select(bias_table_, 0, index_)
                          .reshape({w2, w2, heads})
                          .permute({2, 0, 1});
  const double scale = std::pow(static_cast<double>(width / heads), -0.5);
  Tensor scores =
      hvd::matmul(parts[0] * scale, parts[1].transpose(-2, -1)) + bias;
  if (mask_.defined()) {
    scores =
        scores.reshape({-1, mask_.size(0), heads, w2, w2}) + mask_.unsqueeze(1);
    scores = scores.reshape({-1, heads, w2, w2});
  }
  return hvd::matmul(hvd::softmax(scores, -1), parts[2])
      .transpose(1, 2)
      .reshape({-1, w2, width});
}

Tensor SwinBlock::shifted(const Tensor& x, std::int64_t shift) const {
  return shift == 0 ? x : hvd::roll(x, {shift, shift}, {1, 2});
}

// Backward of a product needs only its inputs. So a region that ends with one
// recomputes only the part before it.
Tensor SwinBlock::add_attention(const Tensor& x, Lean lean) {
  const Tensor qkv = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) {
        return (*qkv_)(to_windows(shifted((*norm1_)(in), -options_.shift)));
      },
      x);
  const Tensor windows = recompute_if(
      lean >= Lean::kAttention,
      [this](const Tensor& in) { return (*proj_)(attend(in)); }, qkv);
  const Tensor y = shifted(from_windows(windows, x.size(0)), options_.shift);
  return x + hvd::drop_path(y, options_.drop_path, is_training());
}

Tensor SwinBlock::add_mlp(const Tensor& x, Lean lean) {
  const Tensor wide = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) { return (*fc1_)((*norm2_)(in)); }, x);
  const Tensor y = recompute_if(
      lean >= Lean::kNorms,
      [this](const Tensor& in) { return (*fc2_)(hvd::gelu(in)); }, wide);
  return x + hvd::drop_path(y, options_.drop_path, is_training());
}

PatchMerging::PatchMerging(std::int64_t width)
    : norm_(register_module("norm", layer_norm(4 * width))),
      reduction_(register_module(
          "reduction",
          std::make_shared<nn::Linear>(4 * width, 2 * width,
                                       nn::LinearOptions{.bias = false}))) {}

Tensor PatchMerging::forward(const Tensor& x) {
  const auto every_other = [&](std::int64_t row, std::int64_t column) {
    return x.slice(1, row, x.size(1), 2).slice(2, column, x.size(2), 2);
  };
  const Tensor together = hvd::cat({every_other(0, 0), every_other(1, 0),
                                    every_other(0, 1), every_other(1, 1)},
                                   -1);
  return (*reduction_)((*norm_)(together));
}

Swin::Swin(const SwinOptions& options)
    : patch_embed_(register_module(
          "patch_embed", std::make_shared<nn::Conv2d>(
                             1, options.width, options.patch,
                             nn::Conv2dOptions{.stride = options.patch}))),
      norm0_(register_module("norm0", layer_norm(options.width))),
      stages_(register_module(
          "stages", std::make_shared<nn::ModuleList<nn::Sequential>>())),
      merges_(register_module(
          "merges", std::make_shared<nn::ModuleList<PatchMerging>>())) {
  add_stage({[this](const Tensor& images) { return embed(images); }});
  SwinBlockOptions block{.width = options.width,
                         .heads = options.heads,
                         .size = options.image / options.patch,
                         .window = options.window};
  const std::int64_t all = std::accumulate(
      options.depths.begin(), options.depths.end(), std::int64_t{0});
  std::int64_t before = 0;
  for (std::size_t i = 0; i < options.depths.size(); ++i) {
    std::vector<std::shared_ptr<nn::Module>> blocks;
    for (std::int64_t b = 0; b < options.depths[i]; ++b, ++before) {
      block.shift = b % 2 == 0 ? 0 : options.window / 2;
      block.drop_path = options.drop_path * static_cast<double>(before) /
                        static_cast<double>(std::max<std::int64_t>(1, all - 1));
      const auto made = std::make_shared<SwinBlock>(block);
      add_block(made->stages());
      blocks.push_back(made);
    }
    stages_->push_back(std::make_shared<nn::Sequential>(std::move(blocks)));
    if (i + 1 == options.depths.size()) break;
    const auto merge = std::make_shared<PatchMerging>(block.width);
    merges_->push_back(merge);
    const auto run = [merge](const Tensor& x) { return (*merge)(x); };
    add_stage(
        {run, {[run](const Tensor& x) { return hvd::checkpoint(run, x); }}});
    block.width *= 2;
    block.heads *= 2;
    block.size /= 2;
  }
  norm_ = register_module("norm", layer_norm(block.width));
  head_ = register_module("head", linear(block.width, options.classes));
  add_stage({[this](const Tensor& x) { return classify(x); }});
}

Tensor Swin::embed(const Tensor& images) {
  return (*norm0_)((*patch_embed_)(images).permute({0, 2, 3, 1}));
}

Tensor Swin::classify(const Tensor& x) {
  return (*head_)((*norm_)(x).mean({1, 2}));
}

}  // namespace models
