// SPDX-License-Identifier: Apache-2.0
// Modules with a weight that maps their input: linear, lookup.
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/indices/index_ops.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Linear: y = x W^T + b, the fully connected layer.
//
//   hvd::nn::Linear fc(784, 10);
//   hvd::Tensor logits = fc(images);        // [n, 784] -> [n, 10]

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::kF32;
};

class Linear : public Module {
 public:
  // "weight" [out, in] and "bias" [out], both uniform in ±1/sqrt(in), from this
  // thread's generator (He et al. 2015, with a = sqrt 5, as in PyTorch).
  //   InvalidArgument  a size is not positive
  Linear(std::int64_t in_features, std::int64_t out_features,
         const LinearOptions& options = {});

  Tensor forward(const Tensor& input) override;

  Tensor weight() const { return effective(weight_); }
  const Tensor& bias() const { return bias_; }  // Undefined without bias.

 private:
  Tensor weight_;
  Tensor bias_;
};

// Embedding: looks up a row of a table for each index.
//
//   hvd::nn::Embedding table(256, 128);
//   hvd::Tensor y = table(tokens);       // int64 [n, t] -> [n, t, 128]

struct EmbeddingOptions {
  // The row that starts as 0 and gets no gradient; a negative index counts from
  // the end.
  std::optional<std::int64_t> padding_index = std::nullopt;
  // Whether the gradient is sparse (autograd/graph/sparse_gradient.h). SGD without
  // momentum, Adagrad and SparseAdam accept sparse gradients.
  bool sparse = false;
  DType dtype = DType::kF32;
};

class Embedding : public Module {
 public:
  // "weight" [rows, width], normal with mean 0 and variance 1.
  //   InvalidArgument  a size is not positive, or the padding index is out of
  //                    range
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
