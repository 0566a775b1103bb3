// SPDX-License-Identifier: Apache-2.0
// Losses as objects that keep their options; losses.h has formulas and shapes.
// They take two tensors and have no parameters, so they are not modules.
//
//   hvd::nn::CrossEntropyLoss criterion({.label_smoothing = 0.1});
//   criterion(model(images), labels).backward();
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/functional/losses.h"

namespace HVD_EXPORT hvd {
namespace nn {

class CrossEntropyLoss {
 public:
  explicit CrossEntropyLoss(const CrossEntropyOptions& options = {})
      : options_(options) {}
  Tensor operator()(const Tensor& logits, const Tensor& targets) const {
    return cross_entropy(logits, targets, options_);
  }

 private:
  CrossEntropyOptions options_;
};

class NLLLoss {
 public:
  explicit NLLLoss(const NllOptions& options = {}) : options_(options) {}
  Tensor operator()(const Tensor& log_probabilities,
                    const Tensor& targets) const {
    return nll_loss(log_probabilities, targets, options_);
  }

 private:
  NllOptions options_;
};

class MSELoss {
 public:
  explicit MSELoss(Reduction reduction = Reduction::kMean)
      : reduction_(reduction) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return mse_loss(x, target, reduction_);
  }

 private:
  Reduction reduction_;
};

}  // namespace nn
}  // namespace hvd
