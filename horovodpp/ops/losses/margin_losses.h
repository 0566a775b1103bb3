// SPDX-License-Identifier: Apache-2.0
// Losses of distances, rankings and margins, with PyTorch's names, defaults and
// values, to any order of derivative. Operands have the dtype of the first one;
// targets of 1 and -1, too.
//
//   Tensor loss = hvd::triplet_margin_loss(anchor, same, other,
//                                          {.margin = 0.5});
//
// InvalidArgument if shapes or dtypes do not fit.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/functional/loss_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct CosineSimilarityOptions {
  std::int64_t dim = 1;
  double eps = 1e-8;  // The smallest norm.
};
// a·b / (max(|a|, eps) max(|b|, eps)) along a dimension;  a ~ b
Tensor cosine_similarity(const Tensor& a, const Tensor& b,
                         const CosineSimilarityOptions& options = {});

struct PairwiseDistanceOptions {
  double p = 2.0;     // Above 0; infinity: the largest difference.
  double eps = 1e-6;  // Added to each difference.
  bool keepdim = false;
};
// The p-norm of a - b + eps along the last dimension;  a ~ b
Tensor pairwise_distance(const Tensor& a, const Tensor& b,
                         const PairwiseDistanceOptions& options = {});

struct MarginOptions {
  double margin = 0.0;
  Reduction reduction = Reduction::kMean;
};
// 1 - cos(a, b) for target 1, max(0, cos(a, b) - margin) for target -1:
// [n, width] [n, width] [n], or [width] [width] []
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b,
                             const Tensor& target,
                             const MarginOptions& options = {});
// max(0, margin - target (a - b)),  a ~ b ~ target
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b,
                           const Tensor& target,
                           const MarginOptions& options = {});

struct HingeEmbeddingOptions {
  double margin = 1.0;
  Reduction reduction = Reduction::kMean;
};
// x for target 1, max(0, margin - x) for target -1,  x ~ target
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target,
                            const HingeEmbeddingOptions& options = {});

struct TripletMarginOptions {
  double margin = 1.0;  // Above 0.
  double p = 2.0;
  double eps = 1e-6;
  // Whether the negative may also be compared with the positive.
  bool swap = false;
  Reduction reduction = Reduction::kMean;
};
// max(0, margin + d(anchor, positive) - d(anchor, negative)), where d is
// pairwise_distance.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive,
                           const Tensor& negative,
                           const TripletMarginOptions& options = {});

struct MultiMarginOptions {
  int p = 1;  // 1 or 2.
  double margin = 1.0;
  Tensor weight = {};  // Per class, [classes]; undefined: all 1.
  Reduction reduction = Reduction::kMean;
};
// sum_c weight[t] max(0, margin - x[t] + x[c])^p / classes, over the classes c
// other than the target t:  x [n, classes], int64 [n]; or [classes] and []
Tensor multi_margin_loss(const Tensor& x, const Tensor& targets,
                         const MultiMarginOptions& options = {});

// sum over targets t and other classes c of max(0, 1 - x[t] + x[c]) / classes.
// int64 targets have the shape of x, [n, classes] or [classes]; a row ends at
// its first -1. Takes memory for n classes^2 numbers.
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& targets,
                              Reduction reduction = Reduction::kMean);

struct MultilabelSoftMarginOptions {
  Tensor weight = {};  // ~ x; undefined: all 1.
  Reduction reduction = Reduction::kMean;
};
// The mean of binary_cross_entropy_with_logits over the last dimension.
Tensor multilabel_soft_margin_loss(
    const Tensor& x, const Tensor& target,
    const MultilabelSoftMarginOptions& options = {});

}  // namespace hvd
