// SPDX-License-Identifier: Apache-2.0
// Losses as objects that keep their options. The headers of the functions have
// formulas and shapes. They take several tensors and have no parameters, so they
// are not modules.
//
//   hvd::nn::CrossEntropyLoss criterion({.label_smoothing = 0.1});
//   criterion(model(images), labels).backward();
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/functional/losses.h"
#include "horovodpp/ops/losses/ctc_loss.h"
#include "horovodpp/ops/losses/elementwise_losses.h"
#include "horovodpp/ops/losses/margin_losses.h"

namespace HVD_EXPORT hvd {
namespace nn {

// The function `kLoss` with its options as an object.
template <typename Options, auto kLoss>
class LossWithOptions {
 public:
  explicit LossWithOptions(const Options& options = {}) : options_(options) {}
  template <typename... Tensors>
  Tensor operator()(const Tensors&... operands) const {
    return kLoss(operands..., options_);
  }

 private:
  Options options_;
};

// The same for a function whose only option is the reduction.
template <auto kLoss>
class LossWithReduction {
 public:
  explicit LossWithReduction(Reduction reduction = Reduction::kMean)
      : reduction_(reduction) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return kLoss(x, target, reduction_);
  }

 private:
  Reduction reduction_;
};

using L1Loss = LossWithReduction<l1_loss>;
using MSELoss = LossWithReduction<mse_loss>;
using SoftMarginLoss = LossWithReduction<soft_margin_loss>;
using MultiLabelMarginLoss = LossWithReduction<multilabel_margin_loss>;

using CrossEntropyLoss = LossWithOptions<CrossEntropyOptions, cross_entropy>;
using NLLLoss = LossWithOptions<NllOptions, nll_loss>;
using HuberLoss = LossWithOptions<HuberOptions, huber_loss>;
using SmoothL1Loss = LossWithOptions<SmoothL1Options, smooth_l1_loss>;
using BCELoss =
    LossWithOptions<BinaryCrossEntropyOptions, binary_cross_entropy>;
using BCEWithLogitsLoss =
    LossWithOptions<BceWithLogitsOptions, binary_cross_entropy_with_logits>;
using KLDivLoss = LossWithOptions<KlDivOptions, kl_div>;
using PoissonNLLLoss = LossWithOptions<PoissonNllOptions, poisson_nll_loss>;
using GaussianNLLLoss = LossWithOptions<GaussianNllOptions, gaussian_nll_loss>;
using CosineEmbeddingLoss =
    LossWithOptions<MarginOptions, cosine_embedding_loss>;
using MarginRankingLoss = LossWithOptions<MarginOptions, margin_ranking_loss>;
using HingeEmbeddingLoss =
    LossWithOptions<HingeEmbeddingOptions, hinge_embedding_loss>;
using TripletMarginLoss =
    LossWithOptions<TripletMarginOptions, triplet_margin_loss>;
using MultiMarginLoss = LossWithOptions<MultiMarginOptions, multi_margin_loss>;
using MultiLabelSoftMarginLoss =
    LossWithOptions<MultilabelSoftMarginOptions, multilabel_soft_margin_loss>;
// Not losses, but functions of two tensors with options, too.
using CosineSimilarity =
    LossWithOptions<CosineSimilarityOptions, cosine_similarity>;
using PairwiseDistance =
    LossWithOptions<PairwiseDistanceOptions, pairwise_distance>;

class CTCLoss {
 public:
  explicit CTCLoss(const CtcOptions& options = {}) : options_(options) {}
  Tensor operator()(const Tensor& log_probabilities, const Tensor& targets,
                    const std::vector<std::int64_t>& input_lengths,
                    const std::vector<std::int64_t>& target_lengths) const {
    return ctc_loss(log_probabilities, targets, input_lengths, target_lengths,
                    options_);
  }

 private:
  CtcOptions options_;
};

}  // namespace nn
}  // namespace hvd
