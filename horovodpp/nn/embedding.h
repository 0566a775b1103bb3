// SPDX-License-Identifier: Apache-2.0
// Embedding: a row of a table for each index.
//
//   hvd::nn::Embedding table(256, 128);
//   hvd::Tensor y = table(tokens);       // int64 [n, t] -> [n, t, 128]
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/lookup_ops.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct EmbeddingOptions {
  // The row that begins as 0 and gets no gradient; negative ones count from the
  // end.
  std::optional<std::int64_t> padding_index = std::nullopt;
  // Whether the gradient is one of the rows that were looked up
  // (autograd/sparse_gradient.h). SGD without momentum, Adagrad and SparseAdam go
  // along such gradients.
  bool sparse = false;
  DType dtype = DType::kF32;
};

class Embedding : public Module {
 public:
  // "weight" [rows, width], normal of mean 0 and variance 1.
  //   InvalidArgument  a size is not positive, or the padding is no row
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim,
            const EmbeddingOptions& options = {});

  Tensor forward(const Tensor& indices) override;

  const Tensor& weight() const { return weight_; }

 private:
  const hvd::EmbeddingOptions options_;
  Tensor weight_;
};

}  // namespace nn
}  // namespace hvd
