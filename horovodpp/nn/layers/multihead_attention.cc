// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/multihead_attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/attention/attention.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/dropout.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

void check(const Tensor& x, std::int64_t width, const char* what) {
  if (x.dim() == 3 && x.size(2) == width) return;
  throw InvalidArgument(absl::StrCat("MultiheadAttention: the ", what, " is ",
                                     x.describe(), "; wanted are 3 dimensions",
                                     ", of which the last is ", width));
}

// Refuses a mask of another shape: it could broadcast and hide other keys.
void check_mask(const Tensor& mask, const autograd::Dims& wanted,
                const char* what) {
  const bool is_mask =
      mask.dtype() == DType::kBool || is_floating_point(mask.dtype());
  if (is_mask && mask.shape() == wanted) return;
  throw InvalidArgument(
      absl::StrCat("MultiheadAttention: the ", what, " is ", mask.describe(),
                   "; wanted is bool or floating point, ", wanted.to_string()));
}

// The number that a mask adds to each score.
Tensor as_scores(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::kBool) return mask;
  return masked_fill(zeros(mask.shape(), {.dtype = dtype}), mask, kNever);
}

Tensor causal_mask(std::int64_t queries, std::int64_t keys, DType dtype) {
  const Tensor later = gt(arange(0, static_cast<double>(keys)),
                          arange(0, static_cast<double>(queries)).unsqueeze(1));
  return as_scores(later, dtype);
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim,
                                       std::int64_t num_heads,
                                       const MultiheadAttentionOptions& options)
    : width_(embed_dim), heads_(num_heads), options_(options) {
  if (embed_dim <= 0 || num_heads <= 0 || embed_dim % num_heads != 0) {
    throw InvalidArgument(absl::StrCat("MultiheadAttention: ", num_heads,
                                       " heads do not divide a width of ",
                                       embed_dim));
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    throw InvalidArgument(absl::StrCat("MultiheadAttention: the dropout ",
                                       options.dropout, " is not in [0, 1]"));
  }
  const TensorOptions learnt{.dtype = options.dtype, .requires_grad = true};
  in_proj_weight_ =
      register_parameter("in_proj_weight", empty({3 * width_, width_}, learnt));
  init::xavier_uniform_(in_proj_weight_);
  if (options.bias) {
    in_proj_bias_ =
        register_parameter("in_proj_bias", zeros({3 * width_}, learnt));
  }
  out_proj_ = register_module(
      "out_proj",
      std::make_shared<Linear>(
          width_, width_,
          LinearOptions{.bias = options.bias, .dtype = options.dtype}));
  if (options.bias) init::zeros_(out_proj_->bias());
}

Tensor MultiheadAttention::split_heads(const Tensor& x) const {
  const Tensor parts =
      x.reshape({x.size(0), x.size(1), heads_, width_ / heads_});
  return options_.batch_first ? parts.permute({0, 2, 1, 3})
                              : parts.permute({1, 2, 0, 3});
}

MultiheadAttention::Heads MultiheadAttention::project(
    const Tensor& query, const Tensor& key, const Tensor& value) const {
  std::vector<Tensor> projected;
  if (query.is_same(key) && key.is_same(value)) {
    projected = linear(query, in_proj_weight_, in_proj_bias_).chunk(3, -1);
  } else {
    const auto weights = in_proj_weight_.chunk(3);
    auto biases = std::vector<Tensor>(3);
    if (in_proj_bias_.defined()) biases = in_proj_bias_.chunk(3);
    projected = {linear(query, weights[0], biases[0]),
                 linear(key, weights[1], biases[1]),
                 linear(value, weights[2], biases[2])};
  }
  return {split_heads(projected[0]), split_heads(projected[1]),
          split_heads(projected[2])};
}

Tensor MultiheadAttention::combined_mask(const Heads& x,
                                         const AttendOptions& options) const {
  const std::int64_t batch = x.q.size(0);
  const std::int64_t queries = x.q.size(2);
  const std::int64_t keys = x.k.size(2);
  Tensor result;
  if (options.mask.defined()) {
    check_mask(options.mask,
               options.mask.dim() == 3
                   ? autograd::Dims{batch * heads_, queries, keys}
                   : autograd::Dims{queries, keys},
               "mask");
    result = as_scores(options.mask, x.q.dtype());
    if (result.dim() == 3) {
      result = result.reshape({batch, heads_, queries, keys});
    }
  }
  if (options.key_padding_mask.defined()) {
    check_mask(options.key_padding_mask, {batch, keys}, "key padding mask");
    const Tensor padding = as_scores(options.key_padding_mask, x.q.dtype())
                               .reshape({batch, 1, 1, keys});
    result = result.defined() ? result + padding : padding;
  }
  const bool alone = !result.defined() && !options.need_weights;
  if (options.is_causal && !alone) {
    const Tensor causal = causal_mask(queries, keys, x.q.dtype());
    result = result.defined() ? result + causal : causal;
  }
  return result;
}

Tensor MultiheadAttention::weights_of(const Heads& x,
                                      const Tensor& mask) const {
  const double scale = 1.0 / std::sqrt(static_cast<double>(width_ / heads_));
  Tensor scores = matmul(x.q * scale, x.k.transpose(-2, -1));
  if (mask.defined()) scores = scores + mask;
  return softmax(scores, -1);
}

MultiheadAttention::Result MultiheadAttention::attend(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const AttendOptions& options) {
  check(query, width_, "query");
  check(key, width_, "key");
  check(value, width_, "value");
  const int batch_at = options_.batch_first ? 0 : 1;
  if (key.shape() != value.shape() ||
      key.size(batch_at) != query.size(batch_at)) {
    throw InvalidArgument(
        absl::StrCat("MultiheadAttention: query ", query.describe(), ", key ",
                     key.describe(), " and value ", value.describe(),
                     " differ in their batch, or the last two in their time"));
  }
  if (options.is_causal && options.mask.defined()) {
    throw InvalidArgument("MultiheadAttention: is_causal is for no mask");
  }
  const Heads x = project(query, key, value);
  const Tensor mask = combined_mask(x, options);
  const double dropout_p = is_training() ? options_.dropout : 0.0;
  Result result;
  if (options.need_weights) {
    const Tensor weights = dropout(weights_of(x, mask), dropout_p);
    result.weights = weights.mean({1});
    result.output = matmul(weights, x.v);
  } else {
    result.output = scaled_dot_product_attention(
        x.q, x.k, x.v,
        {.mask = mask,
         .is_causal = options.is_causal && !mask.defined(),
         .dropout_p = dropout_p});
  }
  result.output =
      result.output.permute(options_.batch_first ? autograd::Dims{0, 2, 1, 3}
                                                 : autograd::Dims{2, 0, 1, 3});
  result.output = (*out_proj_)(result.output.reshape(query.shape()));
  return result;
}

}  // namespace hvd::nn
