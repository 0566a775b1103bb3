// SPDX-License-Identifier: Apache-2.0
// The checked targets of a loss over classes, with their weights.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/ops/functional/loss_options.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Target i is class classes[i] with weight weights[i]; an ignored target is
// class 0 with weight 0.
struct Targets {
  std::vector<std::int64_t> classes;
  std::vector<double> weights;
  std::vector<bool> ignored;
  std::vector<double> class_weights;
  double total_weight = 0.0;  // Of all targets.

  // The factor of each loss in the result.
  double share(Reduction reduction) const {
    return reduction == Reduction::kMean ? 1.0 / total_weight : 1.0;
  }
};

// Reads int64 targets [n] for x [n, classes].
//   InvalidArgument  the weights do not fit x, or a target is no class
Targets read_targets(const Tensor& x, const Tensor& targets,
                     const NllOptions& options, const char* operation);

// InvalidArgument unless `weight` has one number per class.
void check_class_weights(const Tensor& weight, std::int64_t classes,
                         const char* operation);

// InvalidArgument if x [n, classes] has rows but no classes.
void check_classes(const Tensor& x, const char* operation);

// InvalidArgument unless the shapes are as in losses.h.
void check_targets(const Tensor& x, const Tensor& targets,
                   const char* operation);

// Computes a loss for any of these shapes by `loss`, which takes [n, classes]
// and [n].
template <typename Loss>
Tensor loss_of_rows(const Tensor& x, const Tensor& targets,
                    const char* operation, Loss loss) {
  check_targets(x, targets, operation);
  if (x.dim() == 2) return loss(x, targets);
  if (x.dim() == 1) {
    const Tensor result = loss(unsqueeze(x, 0), unsqueeze(targets, 0));
    return result.dim() == 0 ? result : without(result, 0);
  }
  Dims order;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (d != 1) order.push_back(d);
  }
  order.push_back(1);
  const Tensor rows =
      reshape(permute(x, order), {targets.num_elements(), x.size(1)});
  const Tensor result = loss(rows, reshape(targets, {targets.num_elements()}));
  return result.dim() == 0 ? result : resized(result, targets.shape());
}

// Cross entropy with a target probability for each class.

// As cross_entropy() with floating-point targets. The gradient of the targets
// is recorded as well.
//   InvalidArgument  shapes do not fit, or ignore_index is set
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets,
                          const CrossEntropyOptions& options);

}  // namespace hvd::autograd
