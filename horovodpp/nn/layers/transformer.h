// SPDX-License-Identifier: Apache-2.0
// A layer of a transformer's encoder and one of its decoder (Vaswani et al.
// 2017), with PyTorch's names of parameters and values.
//
//   hvd::nn::TransformerEncoderLayer layer(128, 4, {.batch_first = true});
//   hvd::Tensor y = layer(x);                            // [n, t, 128]
//   y = layer.run(x, {.is_causal = true});
#pragma once

#include <cstdint>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/nn/layers/multihead_attention.h"
#include "horovodpp/nn/layers/norms.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct TransformerLayerOptions {
  std::int64_t feedforward = 2048;  // PyTorch's dim_feedforward.
  double dropout = 0.1;
  bool gelu = false;  // Between the linear layers, instead of ReLU.
  double eps = 1e-5;  // Of the layer norms.
  bool batch_first = false;
  bool norm_first = false;  // Normalizes the input of each part, not its sum.
  bool bias = true;         // Of the linear layers, attentions and norms.
  DType dtype = DType::kF32;
};

// The linear layers that both kinds of layers end with.
class TransformerLayer : public Module {
 protected:
  TransformerLayer(std::int64_t width, const TransformerLayerOptions& options)
      : options_(options), width_(width) {}
  // Registers "linear1" and "linear2".
  void add_linear();
  std::shared_ptr<MultiheadAttention> add_attention(const char* name,
                                                    std::int64_t heads);
  std::shared_ptr<LayerNorm> add_norm(const char* name);

  Tensor feed_forward(const Tensor& x);
  Tensor dropped(const Tensor& x) const;
  // x + part(x), with the norm on the one or the other side.
  template <typename Part>
  Tensor added(const Tensor& x, LayerNorm& norm, Part part) {
    return options_.norm_first ? x + part(norm(x)) : norm(x + part(x));
  }

 private:
  const TransformerLayerOptions options_;
  const std::int64_t width_;
  std::shared_ptr<Linear> linear1_;
  std::shared_ptr<Linear> linear2_;
};

class TransformerEncoderLayer : public TransformerLayer {
 public:
  // "self_attn", "linear1", "linear2", "norm1" and "norm2".
  //   InvalidArgument  as of MultiheadAttention and Linear
  TransformerEncoderLayer(std::int64_t width, std::int64_t heads,
                          const TransformerLayerOptions& options = {});

  Tensor forward(const Tensor& input) override { return run(input); }
  Tensor run(const Tensor& input, const AttendOptions& options = {});

 private:
  std::shared_ptr<MultiheadAttention> self_attn_;
  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<LayerNorm> norm2_;
};

class TransformerDecoderLayer : public TransformerLayer {
 public:
  // "self_attn", "multihead_attn", "linear1", "linear2", "norm1" to "norm3".
  //   InvalidArgument  as of MultiheadAttention and Linear
  TransformerDecoderLayer(std::int64_t width, std::int64_t heads,
                          const TransformerLayerOptions& options = {});

  //   InvalidArgument  always: a decoder has two inputs; use run()
  Tensor forward(const Tensor& input) override;
  // Attention of `target` to itself, then to `memory`.
  Tensor run(const Tensor& target, const Tensor& memory,
             const AttendOptions& of_target = {},
             const AttendOptions& of_memory = {});

 private:
  std::shared_ptr<MultiheadAttention> self_attn_;
  std::shared_ptr<MultiheadAttention> multihead_attn_;
  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<LayerNorm> norm2_;
  std::shared_ptr<LayerNorm> norm3_;
};

}  // namespace nn
}  // namespace hvd
