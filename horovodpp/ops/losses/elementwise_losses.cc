// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/losses/elementwise_losses.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/losses/fused_loss.h"
#include "horovodpp/ops/losses/loss_frame.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/unary/activations.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace {

using autograd::can_fuse;
using autograd::fused_loss;
using autograd::LossFormula;
using autograd::LossFrame;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// With c = clamp(d, -delta, delta):  c (d - c / 2), whose derivative is c.
Tensor huber_of(const Tensor& difference, double delta) {
  const Tensor near = clamp(difference, -delta, delta);
  return near * (difference - near * 0.5);
}

// ln x, at least -100. Not recorded.
Tensor bounded_log(const Tensor& x) { return clamp(log(x), -100.0, kInfinity); }

void check_probabilities(const Tensor& x) {
  const NoGrad no_grad;
  if (x.num_elements() == 0) return;
  const double low = min(x).to(DType::kF64).item<double>();
  const double high = max(x).to(DType::kF64).item<double>();
  if (low >= 0.0 && high <= 1.0) return;
  throw InvalidArgument(absl::StrCat(
      "binary_cross_entropy: probabilities from ", low, " to ", high,
      " are not all in [0, 1]; for logits use "
      "binary_cross_entropy_with_logits"));
}

// As in PyTorch, the divisor of the derivative is at least 1e-12, so that it is
// finite for probabilities 0 and 1:
//   dx = dy (x - t) / max(x (1 - x), 1e-12),  dt = dy (ln(1 - x) - ln x)
struct BinaryCrossEntropyBackward : autograd::Node {
  const char* name() const override { return "BinaryCrossEntropyBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor in = x.unpack(*this);
    const Tensor wanted = target.unpack(*this);
    if (wants(0)) {
      const Tensor spread = clamp(in * (1.0 - in), 1e-12, kInfinity);
      results[0] = grads[0] * (in - wanted) / spread;
    }
    if (wants(1)) {
      results[1] = grads[0] * (bounded_log(1.0 - in) - bounded_log(in));
    }
  }
  void release_saved() override {
    x.release();
    target.release();
  }
  autograd::SavedTensor x;
  autograd::SavedTensor target;
};

Tensor recorded_cross_entropy(const Tensor& x, const Tensor& target) {
  Tensor losses;
  {
    const NoGrad no_grad;
    losses = (target - 1.0) * bounded_log(1.0 - x) - target * bounded_log(x);
  }
  if (autograd::needs_grad(x, target)) {
    auto node = autograd::make_node<BinaryCrossEntropyBackward>(x, target);
    node->x.save(x);
    node->target.save(target);
    autograd::set_history(losses, std::move(node));
  }
  return losses;
}

// t ln t, with 0 for t = 0.
Tensor self_entropy(const Tensor& t) {
  return t * log(masked_fill(t, eq(t.detach(), 0.0), 1.0));
}

// An approximation of ln(t!), 0 for t <= 1.
Tensor stirling(const Tensor& t) {
  const Tensor small = le(t.detach(), 1.0);
  const Tensor safe = masked_fill(t, small, 2.0);
  const Tensor term =
      safe * log(safe) - safe + 0.5 * log(safe * (2.0 * std::numbers::pi));
  return masked_fill(term, small, 0.0);
}

Tensor checked_variance(const Tensor& x, const Tensor& var) {
  autograd::check_defined(var, "gaussian_nll_loss");
  Tensor result = var;
  if (result.dim() + 1 == x.dim()) result = unsqueeze(result, -1);
  autograd::Dims one = x.shape();
  if (!one.empty()) one[one.size() - 1] = 1;
  if (result.shape() != x.shape() && result.shape() != one) {
    throw InvalidArgument(absl::StrCat("gaussian_nll_loss: variances ",
                                       var.describe(), " do not fit ",
                                       x.describe()));
  }
  const NoGrad no_grad;
  if (var.num_elements() > 0 && min(var).to(DType::kF64).item<double>() < 0) {
    throw InvalidArgument("gaussian_nll_loss: a variance is negative");
  }
  return result;
}

}  // namespace

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const LossFrame frame(x, "l1_loss");
  const auto composed = [=](const Tensor& p, const Tensor& t) {
    return frame.finish(abs(frame(p) - frame(t)), reduction);
  };
  if (!can_fuse(x, target)) return composed(x, target);
  return fused_loss(x, target,
                    {.formula = LossFormula::kL1, .reduction = reduction},
                    composed);
}

Tensor huber_loss(const Tensor& x, const Tensor& target,
                  const HuberOptions& options) {
  if (!(options.delta > 0)) {
    throw InvalidArgument(absl::StrCat("huber_loss: delta is ", options.delta,
                                       "; wanted is a positive number"));
  }
  const LossFrame frame(x, "huber_loss");
  const auto composed = [=](const Tensor& p, const Tensor& t) {
    return frame.finish(huber_of(frame(p) - frame(t), options.delta),
                        options.reduction);
  };
  if (!can_fuse(x, target)) return composed(x, target);
  return fused_loss(x, target,
                    {.formula = LossFormula::kHuber,
                     .c = options.delta,
                     .reduction = options.reduction},
                    composed);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target,
                      const SmoothL1Options& options) {
  if (!(options.beta >= 0)) {
    throw InvalidArgument(absl::StrCat("smooth_l1_loss: beta is ", options.beta,
                                       "; it is negative"));
  }
  if (options.beta == 0.0) return l1_loss(x, target, options.reduction);
  const LossFrame frame(x, "smooth_l1_loss");
  const double factor = 1.0 / options.beta;
  const auto composed = [=](const Tensor& p, const Tensor& t) {
    const Tensor losses = huber_of(frame(p) - frame(t), options.beta);
    return frame.finish(losses * factor, options.reduction);
  };
  if (!can_fuse(x, target)) return composed(x, target);
  return fused_loss(x, target,
                    {.formula = LossFormula::kHuber,
                     .c = options.beta,
                     .factor = factor,
                     .reduction = options.reduction},
                    composed);
}

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target,
                            const BinaryCrossEntropyOptions& options) {
  const LossFrame frame(x, "binary_cross_entropy");
  frame.check_same_shape(x, target);
  check_probabilities(x);
  Tensor losses = recorded_cross_entropy(frame(x), frame(target));
  if (options.weight.defined()) losses = losses * frame(options.weight);
  return frame.finish(losses, options.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BceWithLogitsOptions& options) {
  const LossFrame frame(x, "binary_cross_entropy_with_logits");
  frame.check_same_shape(x, target);
  if (!options.weight.defined() && !options.pos_weight.defined() &&
      can_fuse(x, target)) {
    return fused_loss(x, target,
                      {.formula = LossFormula::kBceWithLogits,
                       .reduction = options.reduction},
                      [=](const Tensor& p, const Tensor& t) {
                        return frame.finish((1.0 - t) * p - log_sigmoid(p),
                                            options.reduction);
                      });
  }
  const Tensor logits = frame(x);
  const Tensor wanted = frame(target);
  Tensor log_likelihood = log_sigmoid(logits);
  if (options.pos_weight.defined()) {
    log_likelihood =
        log_likelihood * ((frame(options.pos_weight) - 1.0) * wanted + 1.0);
  }
  Tensor losses = (1.0 - wanted) * logits - log_likelihood;
  if (options.weight.defined()) losses = losses * frame(options.weight);
  return frame.finish(losses, options.reduction);
}

Tensor kl_div(const Tensor& x, const Tensor& target,
              const KlDivOptions& options) {
  const LossFrame frame(x, "kl_div");
  if (!options.log_target && !options.batch_mean && can_fuse(x, target)) {
    return fused_loss(
        x, target,
        {.formula = LossFormula::kKlDiv, .reduction = options.reduction},
        [=](const Tensor& p, const Tensor& t) {
          return frame.finish(self_entropy(t) - t * p, options.reduction);
        });
  }
  const Tensor log_probabilities = frame(x);
  const Tensor wanted = frame(target);
  const Tensor losses = options.log_target
                            ? exp(wanted) * (wanted - log_probabilities)
                            : self_entropy(wanted) - wanted * log_probabilities;
  if (!options.batch_mean) return frame.finish(losses, options.reduction);
  if (x.dim() == 0) {
    throw InvalidArgument("kl_div: a mean over the batch wants a dimension");
  }
  const auto batch = static_cast<double>(x.size(0));
  return frame.finish(sum(losses) * (1.0 / batch), Reduction::kNone);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target,
                        const PoissonNllOptions& options) {
  const LossFrame frame(x, "poisson_nll_loss");
  const Tensor in = frame(x);
  const Tensor wanted = frame(target);
  Tensor losses = options.log_input ? exp(in) - wanted * in
                                    : in - wanted * log(in + options.eps);
  if (options.full) losses = losses + stirling(wanted);
  return frame.finish(losses, options.reduction);
}

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target,
                         const Tensor& var, const GaussianNllOptions& options) {
  if (!(options.eps > 0)) {
    throw InvalidArgument(absl::StrCat("gaussian_nll_loss: eps is ",
                                       options.eps,
                                       "; wanted is a positive number"));
  }
  const LossFrame frame(x, "gaussian_nll_loss");
  const Tensor given = frame(checked_variance(x, var));
  const Tensor at = given.detach();
  const Tensor v = where(lt(at, options.eps), given - at + options.eps, given);
  const Tensor difference = frame(x) - frame(target);
  Tensor losses = 0.5 * (log(v) + difference * difference / v);
  if (options.full) losses = losses + 0.5 * std::log(2.0 * std::numbers::pi);
  return frame.finish(losses, options.reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                        Reduction reduction) {
  const LossFrame frame(x, "soft_margin_loss");
  return frame.finish(-log_sigmoid(frame(x) * frame(target)), reduction);
}

}  // namespace hvd
