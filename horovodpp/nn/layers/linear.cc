// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/linear.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features,
               const LinearOptions& options) {
  if (in_features <= 0 || out_features <= 0) {
    throw InvalidArgument(absl::StrCat("Linear: from ", in_features, " to ",
                                       out_features,
                                       " features; both must be positive"));
  }
  const double bound = kaiming_uniform_bound(in_features);
  weight_ = register_weight(
      "weight", uniform({out_features, in_features}, bound, options.dtype));
  if (options.bias) {
    bias_ = register_parameter("bias",
                               uniform({out_features}, bound, options.dtype));
  }
}

Tensor Linear::forward(const Tensor& input) {
  return linear(input, effective(weight_), bias_);
}

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim,
                     const EmbeddingOptions& options)
    : options_{.padding_index = options.padding_index,
               .sparse = options.sparse} {
  if (num_embeddings <= 0 || embedding_dim <= 0) {
    throw InvalidArgument(absl::StrCat("Embedding of ", num_embeddings,
                                       " rows of ", embedding_dim,
                                       "; both must be positive"));
  }
  const std::int64_t padding = options.padding_index.value_or(0);
  if (padding < -num_embeddings || padding >= num_embeddings) {
    throw InvalidArgument(absl::StrCat("Embedding: padding index ", padding,
                                       " is none of ", num_embeddings,
                                       " rows"));
  }
  weight_ = register_parameter(
      "weight", empty({num_embeddings, embedding_dim},
                      {.dtype = options.dtype, .requires_grad = true}));
  if (options.sparse) autograd::expect_sparse_grad(weight_);
  init::normal_(weight_);
  if (options.padding_index) {
    NoGrad no_grad;
    weight_.select(0, padding).zero_();
  }
}

Tensor Embedding::forward(const Tensor& indices) {
  return embedding(weight_, indices, options_);
}

}  // namespace hvd::nn
