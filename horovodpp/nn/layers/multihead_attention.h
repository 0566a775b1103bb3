// SPDX-License-Identifier: Apache-2.0
// MultiheadAttention (Vaswani et al. 2017): attention of queries to keys and
// their values, in several heads.
//
//   hvd::nn::MultiheadAttention attention(128, 4, {.batch_first = true});
//   hvd::Tensor y = attention(x);                        // [n, t, 128], itself
//   y = attention.attend(x, x, x, {.is_causal = true}).output;
//   y = attention.attend(x, memory, memory).output;
#pragma once

#include <cstdint>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct MultiheadAttentionOptions {
  double dropout = 0.0;  // Of the weights, in training.
  bool bias = true;
  // [batch, time, width] instead of [time, batch, width].
  bool batch_first = false;
  DType dtype = DType::kF32;
};

struct AttendOptions {
  // [queries, keys] or [batch heads, queries, keys]. bool: true where a key
  // must NOT be seen, as in PyTorch's module. Otherwise a number added to each
  // score.
  Tensor mask = {};
  // bool [batch, keys]: true where a key is padding; or a number added to each
  // score.
  Tensor key_padding_mask = {};
  // Query i sees keys 0 to i. Excludes a mask.
  bool is_causal = false;
  bool need_weights = false;  // Costs memory for all weights.
};

class MultiheadAttention : public Module {
 public:
  struct Result {
    Tensor output;  // Shaped as the query.
    // [batch, queries, keys], the mean over the heads; set with need_weights.
    Tensor weights;
  };

  // "in_proj_weight" [3 width, width], Xavier-uniform (Glorot and Bengio),
  // "in_proj_bias" [3 width] and "out_proj.bias", both 0, and
  // "out_proj.weight".
  //   InvalidArgument  a size is not positive, the heads do not divide the
  //                    width, or dropout is not in [0, 1]
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                     const MultiheadAttentionOptions& options = {});

  // Self-attention.
  Tensor forward(const Tensor& input) override {
    return attend(input, input, input).output;
  }

  //   InvalidArgument  shapes do not fit
  Result attend(const Tensor& query, const Tensor& key, const Tensor& value,
                const AttendOptions& options = {});

 private:
  struct Heads {
    Tensor q, k, v;  // [batch, heads, time, width / heads]
  };
  Heads project(const Tensor& query, const Tensor& key,
                const Tensor& value) const;
  Tensor split_heads(const Tensor& x) const;
  Tensor combined_mask(const Heads& x, const AttendOptions& options) const;
  Tensor weights_of(const Heads& x, const Tensor& mask) const;

  const std::int64_t width_;
  const std::int64_t heads_;
  const MultiheadAttentionOptions options_;
  Tensor in_proj_weight_;
  Tensor in_proj_bias_;
  std::shared_ptr<Linear> out_proj_;
};

}  // namespace nn
}  // namespace hvd
