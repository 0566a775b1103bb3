// SPDX-License-Identifier: Apache-2.0
// Bilinear maps, and sums of rows of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Bilinear: y[o] = a^T W[o] b + bias[o].
//
//   hvd::nn::Bilinear score(20, 30, 1);
//   hvd::Tensor y = score.run(queries, documents);   // [n, 20] [n, 30] -> [n, 1]

struct BilinearOptions {
  bool bias = true;
  DType dtype = DType::kF32;
};

class Bilinear : public Module {
 public:
  // "weight" [out, in1, in2] and "bias" [out], uniform in ±1/sqrt(in1).
  //   InvalidArgument  a size is not positive
  Bilinear(std::int64_t in1, std::int64_t in2, std::int64_t out,
           const BilinearOptions& options = {});

  // a [..., in1], b [..., in2] -> [..., out]
  Tensor run(const Tensor& a, const Tensor& b);
  // run(input, input)
  Tensor forward(const Tensor& input) override;

 private:
  Tensor weight_;
  Tensor bias_;
};

// EmbeddingBag: the sum, mean or maximum of the rows of each bag of indices.
//
//   hvd::nn::EmbeddingBag bags(10000, 64);
//   hvd::Tensor y = bags(words);                     // int64 [n, 12] -> [n, 64]

enum class BagMode { kSum, kMean, kMax };

struct EmbeddingBagOptions {
  BagMode mode = BagMode::kMean;
  // Rows that bags leave out; a negative index counts from the end.
  std::optional<std::int64_t> padding_index = std::nullopt;
  DType dtype = DType::kF32;
};

class EmbeddingBag : public Module {
 public:
  // "weight" [rows, width], normal with mean 0 and variance 1; 0 at the padding
  // index.
  //   InvalidArgument  a size is not positive, or the padding index is out of
  //                    range
  EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim,
               const EmbeddingBagOptions& options = {});

  // Bags of equal size:  int64 [n, size] -> [n, width]
  Tensor forward(const Tensor& indices) override;
  // Bag i begins at offsets[i], up to the next:  int64 [indices], int64 [n] ->
  // [n, width]. Empty bags are 0.
  //   InvalidArgument  the offsets do not begin at 0, or decrease
  Tensor run(const Tensor& indices, const Tensor& offsets);

 private:
  Tensor reduce(const std::vector<std::int64_t>& rows,
                const std::vector<std::int64_t>& bags, std::int64_t count);

  const EmbeddingBagOptions options_;
  std::int64_t padding_ = -1;  // None.
  Tensor weight_;
};

}  // namespace nn
}  // namespace hvd
