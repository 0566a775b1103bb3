// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/composed/transformer_stack.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

template <typename Layer>
std::shared_ptr<ModuleList<Layer>> stacked_layers(
    std::int64_t width, std::int64_t heads, std::int64_t count,
    const TransformerLayerOptions& options) {
  if (count < 1) {
    throw InvalidArgument(
        absl::StrCat("a transformer of ", count, " layers; give 1 or more"));
  }
  auto layers = std::make_shared<ModuleList<Layer>>();
  for (std::int64_t i = 0; i < count; ++i) {
    layers->push_back(std::make_shared<Layer>(width, heads, options));
  }
  return layers;
}

std::shared_ptr<LayerNorm> last_norm(std::int64_t width,
                                     const TransformerLayerOptions& options) {
  return std::make_shared<LayerNorm>(
      autograd::Dims{width},
      LayerNormOptions{
          .eps = options.eps, .bias = options.bias, .dtype = options.dtype});
}

}  // namespace

TransformerEncoder::TransformerEncoder(std::int64_t width, std::int64_t heads,
                                       std::int64_t layers,
                                       const TransformerStackOptions& options) {
  layers_ = register_module("layers", stacked_layers<TransformerEncoderLayer>(
                                          width, heads, layers, options.layer));
  if (options.norm) {
    norm_ = register_module("norm", last_norm(width, options.layer));
  }
}

Tensor TransformerEncoder::run(const Tensor& input,
                               const AttendOptions& options) {
  Tensor x = input;
  for (const auto& layer : *layers_) x = layer->run(x, options);
  return norm_ ? (*norm_)(x) : x;
}

TransformerDecoder::TransformerDecoder(std::int64_t width, std::int64_t heads,
                                       std::int64_t layers,
                                       const TransformerStackOptions& options) {
  layers_ = register_module("layers", stacked_layers<TransformerDecoderLayer>(
                                          width, heads, layers, options.layer));
  if (options.norm) {
    norm_ = register_module("norm", last_norm(width, options.layer));
  }
}

Tensor TransformerDecoder::forward(const Tensor& /*input*/) {
  throw InvalidArgument(
      "a TransformerDecoder takes a target and a memory; call run()");
}

Tensor TransformerDecoder::run(const Tensor& target, const Tensor& memory,
                               const AttendOptions& of_target,
                               const AttendOptions& of_memory) {
  Tensor x = target;
  for (const auto& layer : *layers_) {
    x = layer->run(x, memory, of_target, of_memory);
  }
  return norm_ ? (*norm_)(x) : x;
}

Transformer::Transformer(std::int64_t width, std::int64_t heads,
                         const TransformerOptions& options) {
  const TransformerStackOptions stack{.layer = options.layer, .norm = true};
  encoder_ = register_module("encoder",
                             std::make_shared<TransformerEncoder>(
                                 width, heads, options.encoder_layers, stack));
  decoder_ = register_module("decoder",
                             std::make_shared<TransformerDecoder>(
                                 width, heads, options.decoder_layers, stack));
  for (const Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
  }
}

Tensor Transformer::forward(const Tensor& /*input*/) {
  throw InvalidArgument(
      "a Transformer takes a source and a target; call run()");
}

Tensor Transformer::run(const Tensor& source, const Tensor& target,
                        const TransformerMasks& masks) {
  const Tensor memory = encoder_->run(source, masks.source);
  return decoder_->run(target, memory, masks.target, masks.memory);
}

Tensor Transformer::subsequent_mask(std::int64_t steps, DType dtype) {
  const Tensor at = arange(0, static_cast<double>(steps));
  return masked_fill(zeros({steps, steps}, {.dtype = dtype}),
                     gt(at, at.unsqueeze(1)), kHidden);
}

}  // namespace hvd::nn
