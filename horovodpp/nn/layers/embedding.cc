// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/layers/embedding.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/lookup_ops.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

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
