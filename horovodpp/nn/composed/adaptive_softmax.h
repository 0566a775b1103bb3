// SPDX-License-Identifier: Apache-2.0
// AdaptiveLogSoftmaxWithLoss (Grave et al. 2017) computes log-probabilities of
// many classes, of which the first are frequent. Rare classes form clusters.
// A cluster's matrices are small, and loss() multiplies them only with rows
// whose target is in the cluster.
//
//   hvd::nn::AdaptiveLogSoftmaxWithLoss softmax(64, 1000, {100, 400});
//   softmax.loss(features, classes).loss.backward();
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/containers.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct AdaptiveSoftmaxOptions {
  // Cluster i has in_features / div_value^(i + 1) features.
  double div_value = 4.0;
  bool head_bias = false;
  DType dtype = DType::kF32;
};

class AdaptiveLogSoftmaxWithLoss : public Module {
 public:
  struct Result {
    Tensor output;  // [n]: the log-probability of each target.
    Tensor loss;    // The negative mean of the output.
  };

  // "head.weight", "head.bias" if wanted, "tail.<i>.0.weight" and
  // "tail.<i>.1.weight". Each cutoff is the first class of a cluster.
  //   InvalidArgument  cutoffs do not ascend between 0 and `classes`, or a
  //                    cluster has no features left
  AdaptiveLogSoftmaxWithLoss(std::int64_t in_features, std::int64_t classes,
                             std::vector<std::int64_t> cutoffs,
                             const AdaptiveSoftmaxOptions& options = {});

  // input [n, in_features], target [n] of int64, or [in_features] and [].
  //   InvalidArgument  shapes do not fit; a target is no class
  Result loss(const Tensor& input, const Tensor& target);
  // The log-probabilities of all classes: [n, classes].
  Tensor log_prob(const Tensor& input);
  // The most probable class of each row: [n].
  Tensor predict(const Tensor& input);
  // log_prob().
  Tensor forward(const Tensor& input) override { return log_prob(input); }

 private:
  const std::int64_t width_;
  std::vector<std::int64_t> cutoffs_;  // The last is the number of classes.
  std::shared_ptr<Linear> head_;
  std::shared_ptr<ModuleList<Sequential>> tail_;
};

}  // namespace nn
}  // namespace hvd
