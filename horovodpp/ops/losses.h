// Losses of predictions against targets. Included by ops.h.
//
//   Tensor loss = hvd::cross_entropy(model(x), labels,
//                                    {.label_smoothing = 0.1});
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// What becomes of the losses of the elements: they stay, or become one.
enum class Reduction { kNone, kMean, kSum };

struct NllOptions {
  Tensor weight = {};  // Of each class, [classes]; undefined: all 1.
  std::int64_t ignore_index = -100;  // This target has no loss.
  // A mean divides by the weights of the targets that are not ignored; if there
  // are none it is NaN.
  Reduction reduction = Reduction::kMean;
};

// -weight[target] log_probabilities[target], with classes in dimension 1:
// [n, classes, ...] and int64 [n, ...] -> [n, ...] or []; or [classes] and [].
//   InvalidArgument  a target is no class
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets,
                const NllOptions& options = {});

struct CrossEntropyOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::kMean;
  // So much of the target is spread evenly over all classes; in [0, 1].
  double label_smoothing = 0.0;
};

// nll_loss(log_softmax(logits, 1), targets), in one pass; shapes as above. Or
// targets of floating point, in the shape of the logits: the probability p of
// each class, -sum_c weight[c] p[c] log_softmax(logits)[c], where a mean divides
// by n (and by further dimensions), and nothing is ignored.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// (x - target)^2,  x ~ target
Tensor mse_loss(const Tensor& x, const Tensor& target,
                Reduction reduction = Reduction::kMean);

}  // namespace hvd
