// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/transformer.h"

#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/dropout.h"

namespace hvd::nn {

void TransformerLayer::add_linear() {
  const LinearOptions options{.bias = options_.bias, .dtype = options_.dtype};
  linear1_ = register_module(
      "linear1",
      std::make_shared<Linear>(width_, options_.feedforward, options));
  linear2_ = register_module(
      "linear2",
      std::make_shared<Linear>(options_.feedforward, width_, options));
}

std::shared_ptr<MultiheadAttention> TransformerLayer::add_attention(
    const char* name, std::int64_t heads) {
  return register_module(
      name, std::make_shared<MultiheadAttention>(
                width_, heads,
                MultiheadAttentionOptions{.dropout = options_.dropout,
                                          .bias = options_.bias,
                                          .batch_first = options_.batch_first,
                                          .dtype = options_.dtype}));
}

std::shared_ptr<LayerNorm> TransformerLayer::add_norm(const char* name) {
  return register_module(name, std::make_shared<LayerNorm>(
                                   autograd::Dims{width_},
                                   LayerNormOptions{.eps = options_.eps,
                                                    .bias = options_.bias,
                                                    .dtype = options_.dtype}));
}

Tensor TransformerLayer::dropped(const Tensor& x) const {
  return dropout(x, options_.dropout, is_training());
}

Tensor TransformerLayer::feed_forward(const Tensor& x) {
  const Tensor inner = (*linear1_)(x);
  const Tensor active = options_.gelu ? gelu(inner) : relu(inner);
  return dropped((*linear2_)(dropped(active)));
}

TransformerEncoderLayer::TransformerEncoderLayer(
    std::int64_t width, std::int64_t heads,
    const TransformerLayerOptions& options)
    : TransformerLayer(width, options) {
  self_attn_ = add_attention("self_attn", heads);
  add_linear();
  norm1_ = add_norm("norm1");
  norm2_ = add_norm("norm2");
}

Tensor TransformerEncoderLayer::run(const Tensor& input,
                                    const AttendOptions& options) {
  const Tensor x = added(input, *norm1_, [&](const Tensor& in) {
    return dropped(self_attn_->attend(in, in, in, options).output);
  });
  return added(x, *norm2_, [&](const Tensor& in) { return feed_forward(in); });
}

TransformerDecoderLayer::TransformerDecoderLayer(
    std::int64_t width, std::int64_t heads,
    const TransformerLayerOptions& options)
    : TransformerLayer(width, options) {
  self_attn_ = add_attention("self_attn", heads);
  multihead_attn_ = add_attention("multihead_attn", heads);
  add_linear();
  norm1_ = add_norm("norm1");
  norm2_ = add_norm("norm2");
  norm3_ = add_norm("norm3");
}

Tensor TransformerDecoderLayer::forward(const Tensor& /*input*/) {
  throw InvalidArgument(
      "a TransformerDecoderLayer takes a target and a memory; call run()");
}

Tensor TransformerDecoderLayer::run(const Tensor& target, const Tensor& memory,
                                    const AttendOptions& of_target,
                                    const AttendOptions& of_memory) {
  Tensor x = added(target, *norm1_, [&](const Tensor& in) {
    return dropped(self_attn_->attend(in, in, in, of_target).output);
  });
  x = added(x, *norm2_, [&](const Tensor& in) {
    return dropped(
        multihead_attn_->attend(in, memory, memory, of_memory).output);
  });
  return added(x, *norm3_, [&](const Tensor& in) { return feed_forward(in); });
}

}  // namespace hvd::nn
