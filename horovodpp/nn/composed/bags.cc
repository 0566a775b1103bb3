// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/composed/bags.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/init.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/indices/scatter_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/contractions.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

Tensor int64_vector(const std::vector<std::int64_t>& values) {
  return from_vector(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace

Bilinear::Bilinear(std::int64_t in1, std::int64_t in2, std::int64_t out,
                   const BilinearOptions& options) {
  if (in1 <= 0 || in2 <= 0 || out <= 0) {
    throw InvalidArgument(absl::StrCat("Bilinear: from ", in1, " and ", in2,
                                       " to ", out,
                                       " features; all are positive"));
  }
  const double bound = 1 / std::sqrt(static_cast<double>(in1));
  weight_ =
      register_weight("weight", uniform({out, in1, in2}, bound, options.dtype));
  if (options.bias) {
    bias_ = register_parameter("bias", uniform({out}, bound, options.dtype));
  }
}

Tensor Bilinear::run(const Tensor& a, const Tensor& b) {
  const Tensor y = einsum("...i,oij,...j->...o", {a, effective(weight_), b});
  return bias_.defined() ? add(y, bias_) : y;
}

Tensor Bilinear::forward(const Tensor& input) { return run(input, input); }

EmbeddingBag::EmbeddingBag(std::int64_t num_embeddings,
                           std::int64_t embedding_dim,
                           const EmbeddingBagOptions& options)
    : options_(options) {
  if (num_embeddings <= 0 || embedding_dim <= 0) {
    throw InvalidArgument(absl::StrCat("EmbeddingBag: ", num_embeddings,
                                       " rows of ", embedding_dim,
                                       " elements; both must be positive"));
  }
  Tensor table = randn({num_embeddings, embedding_dim}).to(options.dtype);
  if (options.padding_index) {
    padding_ = *options.padding_index;
    if (padding_ < 0) padding_ += num_embeddings;
    if (padding_ < 0 || padding_ >= num_embeddings) {
      throw InvalidArgument(
          absl::StrCat("EmbeddingBag: padding index ", *options.padding_index,
                       " is not one of ", num_embeddings, " rows"));
    }
    table.select(0, padding_).fill_(0.0);
  }
  table.set_requires_grad(true);
  weight_ = register_parameter("weight", table);
}

Tensor EmbeddingBag::forward(const Tensor& indices) {
  if (indices.dim() != 2) {
    throw InvalidArgument(absl::StrCat("EmbeddingBag: indices ",
                                       indices.describe(),
                                       " are not [n, size]; use run()"));
  }
  std::vector<std::int64_t> bags;
  for (std::int64_t i = 0; i < indices.size(0); ++i) {
    bags.insert(bags.end(), static_cast<std::size_t>(indices.size(1)), i);
  }
  return reduce(indices.to_vector<std::int64_t>(), bags, indices.size(0));
}

Tensor EmbeddingBag::run(const Tensor& indices, const Tensor& offsets) {
  if (indices.dim() != 1 || offsets.dim() != 1) {
    throw InvalidArgument(absl::StrCat("EmbeddingBag: indices ",
                                       indices.describe(), " and offsets ",
                                       offsets.describe(), " are not vectors"));
  }
  auto bounds = offsets.to_vector<std::int64_t>();
  bounds.push_back(indices.size(0));
  bool valid = bounds[0] == 0;
  std::vector<std::int64_t> bags;
  for (std::size_t i = 0; valid && i + 1 < bounds.size(); ++i) {
    valid = bounds[i] <= bounds[i + 1] && bounds[i + 1] <= indices.size(0);
    if (!valid) break;
    bags.insert(bags.end(), static_cast<std::size_t>(bounds[i + 1] - bounds[i]),
                static_cast<std::int64_t>(i));
  }
  if (!valid) {
    throw InvalidArgument(
        absl::StrCat("EmbeddingBag: offsets do not rise from 0 to at most ",
                     indices.size(0), ", the number of indices"));
  }
  return reduce(indices.to_vector<std::int64_t>(), bags, offsets.size(0));
}

Tensor EmbeddingBag::reduce(const std::vector<std::int64_t>& rows,
                            const std::vector<std::int64_t>& bags,
                            std::int64_t count) {
  std::vector<std::int64_t> kept, kept_bags;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == padding_) continue;
    kept.push_back(rows[i]);
    kept_bags.push_back(bags[i]);
  }
  const Tensor found = embedding(weight_, int64_vector(kept));
  const Tensor places = int64_vector(kept_bags);
  const TensorOptions as_weight{.dtype = weight_.dtype()};
  const Tensor empty_bags = zeros({count, weight_.size(1)}, as_weight);
  if (options_.mode == BagMode::kMax) {
    const Tensor all = expand(unsqueeze(places, 1), found.shape());
    return scatter_reduce(empty_bags, 0, all, found, ScatterReduce::kMax,
                          false);
  }
  const Tensor sums = index_add(empty_bags, 0, places, found);
  if (options_.mode == BagMode::kSum) return sums;
  const Tensor sizes = index_add(zeros({count, 1}, as_weight), 0, places,
                                 ones({places.size(0), 1}, as_weight));
  return div(sums, where(eq(sizes, 0.0), 1.0 + sizes, sizes));
}

}  // namespace hvd::nn
