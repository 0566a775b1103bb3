// SPDX-License-Identifier: Apache-2.0
// Losses of each element, with PyTorch's names, defaults and values, to any
// order of derivative. "~" means that shapes broadcast. Operands have the dtype
// of the predictions x.
//
//   Tensor loss = hvd::binary_cross_entropy_with_logits(
//       model(x), labels, {.pos_weight = hvd::full({}, 3.0)});
//
// InvalidArgument if shapes or dtypes do not fit.
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/ops/functional/loss_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// |x - target|,  x ~ target
Tensor l1_loss(const Tensor& x, const Tensor& target,
               Reduction reduction = Reduction::kMean);

struct HuberOptions {
  double delta = 1.0;  // Above 0.
  Reduction reduction = Reduction::kMean;
};
// With d = |x - target|:  d^2 / 2 where d < delta, else delta (d - delta / 2)
Tensor huber_loss(const Tensor& x, const Tensor& target,
                  const HuberOptions& options = {});

struct SmoothL1Options {
  double beta = 1.0;  // 0: l1_loss.
  Reduction reduction = Reduction::kMean;
};
// huber_loss with delta = beta, divided by beta.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target,
                      const SmoothL1Options& options = {});

struct BinaryCrossEntropyOptions {
  Tensor weight = {};  // ~ x; undefined: all 1.
  Reduction reduction = Reduction::kMean;
};
// -weight (target ln x + (1 - target) ln(1 - x)), for probabilities x and
// targets of one shape. A logarithm is at least -100.
//   InvalidArgument  an x is not in [0, 1]
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target,
                            const BinaryCrossEntropyOptions& options = {});

struct BceWithLogitsOptions {
  Tensor weight = {};      // ~ x; undefined: all 1.
  Tensor pos_weight = {};  // ~ x; factor of the positive term.
  Reduction reduction = Reduction::kMean;
};
// binary_cross_entropy of sigmoid(x), without overflow.
Tensor binary_cross_entropy_with_logits(
    const Tensor& x, const Tensor& target,
    const BceWithLogitsOptions& options = {});

struct KlDivOptions {
  bool log_target = false;  // Whether targets are logarithms.
  // Divides the sum by the size of dimension 0, instead of `reduction`.
  bool batch_mean = false;
  Reduction reduction = Reduction::kMean;
};
// target (ln target - x), for log-probabilities x;  x ~ target
Tensor kl_div(const Tensor& x, const Tensor& target,
              const KlDivOptions& options = {});

struct PoissonNllOptions {
  bool log_input = true;  // Whether x is the logarithm of the rate.
  bool full = false;  // Whether to add Stirling's term, for targets above 1.
  double eps = 1e-8;  // Added to the rate in its logarithm.
  Reduction reduction = Reduction::kMean;
};
// e^x - target x;  or, without log_input, x - target ln(x + eps)
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target,
                        const PoissonNllOptions& options = {});

struct GaussianNllOptions {
  bool full = false;  // Whether to add ln(2 pi) / 2.
  double eps = 1e-6;  // The smallest variance.
  Reduction reduction = Reduction::kMean;
};
// (ln v + (x - target)^2 / v) / 2, where v = max(var, eps), whose derivative by
// var is 1. `var` has the shape of x, or 1 for its last dimension, or lacks
// that.
//   InvalidArgument  a variance is negative
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target,
                         const Tensor& var,
                         const GaussianNllOptions& options = {});

// ln(1 + e^(-target x)), targets 1 and -1;  x ~ target
Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                        Reduction reduction = Reduction::kMean);

}  // namespace hvd
