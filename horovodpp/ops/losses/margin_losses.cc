// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/losses/margin_losses.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/losses/elementwise_losses.h"
#include "horovodpp/ops/losses/loss_frame.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace {

using autograd::Dims;
using autograd::LossFrame;

// max(x, 0), whose derivative at 0 is 1.
Tensor at_least_zero(const Tensor& x) {
  return clamp(x, 0.0, std::numeric_limits<double>::infinity());
}

// x^(1/p), whose derivative at 0 is 0.
Tensor root(const Tensor& x, double p) {
  const Tensor zero = eq(x.detach(), 0.0);
  const Tensor safe = masked_fill(x, zero, 1.0);
  return masked_fill(p == 2.0 ? sqrt(safe) : pow(safe, 1.0 / p), zero, 0.0);
}

Tensor norm_of_last(const Tensor& x, double p, bool keepdim) {
  const std::int64_t last = x.dim() - 1;
  if (p == 1.0) return sum(abs(x), {last}, keepdim);
  if (std::isinf(p)) return max(abs(x), last, keepdim).values;
  const Tensor powers = p == 2.0 ? x * x : pow(abs(x), p);
  return root(sum(powers, {last}, keepdim), p);
}

Tensor distance_of(const Tensor& a, const Tensor& b,
                   const PairwiseDistanceOptions& options) {
  const Tensor difference = a - b + options.eps;
  if (difference.dim() == 0) {
    throw InvalidArgument("pairwise_distance: its operands are numbers");
  }
  return norm_of_last(difference, options.p, options.keepdim);
}

void check_norm(double p, const char* operation) {
  if (p > 0) return;
  throw InvalidArgument(
      absl::StrCat(operation, ": p is ", p, "; wanted is a positive number"));
}

// max(|x|, eps), along a dimension. As in PyTorch, the norm at the bound has no
// derivative.
Tensor bounded_norm(const Tensor& x, std::int64_t dim, double eps) {
  const Tensor norm = root(sum(x * x, {dim}), 2.0);
  return masked_fill(norm, lt(norm.detach(), eps), eps);
}

// Rows [n, classes] and targets of the same number of rows.
struct ClassRows {
  Tensor x;
  Tensor targets;
  bool single = false;  // Without a batch.

  // The loss of one item has no dimension.
  Tensor losses(const Tensor& of_rows) const {
    return single ? select(of_rows, 0, 0) : of_rows;
  }
};

ClassRows class_rows(const Tensor& x, const Tensor& targets,
                     const Dims& target_shape, const char* operation) {
  autograd::check_defined(targets, operation);
  const bool fits = (x.dim() == 1 || x.dim() == 2) && x.size(-1) > 0 &&
                    targets.dtype() == DType::kI64 &&
                    targets.shape() == target_shape;
  if (!fits) {
    throw InvalidArgument(absl::StrCat(operation, ": predictions ",
                                       x.describe(), " and targets ",
                                       targets.describe(),
                                       " do not go together; wanted are [n, "
                                       "classes] or [classes], and int64"));
  }
  if (x.dim() == 2) return {x, targets, false};
  return {unsqueeze(x, 0), unsqueeze(targets, 0), true};
}

[[noreturn]] void refuse_target(std::int64_t target, std::int64_t classes,
                                const char* operation) {
  throw InvalidArgument(absl::StrCat(operation, ": target ", target,
                                     " is none of ", classes, " classes"));
}

// The targets of each row up to its first -1.
struct LabelSets {
  Tensor index;    // int64 [n, classes], 0 where there is no target.
  Tensor present;  // bool [n, classes]: whether the place has a target.
  Tensor member;   // bool [n, classes]: whether the class is a target.
};

LabelSets label_sets(const Tensor& targets, const char* operation) {
  autograd::report_reads(targets);
  const std::int64_t classes = targets.size(1);
  const std::vector<std::int64_t> given = targets.to_vector<std::int64_t>();
  LabelSets result{zeros(targets.shape(), {.dtype = DType::kI64}),
                   zeros(targets.shape(), {.dtype = DType::kBool}),
                   zeros(targets.shape(), {.dtype = DType::kBool})};
  for (std::int64_t row = 0; row < targets.size(0); ++row) {
    for (std::int64_t i = row * classes; i < (row + 1) * classes; ++i) {
      const std::int64_t target = given[static_cast<std::size_t>(i)];
      if (target == -1) break;
      if (target < 0 || target >= classes) {
        refuse_target(target, classes, operation);
      }
      result.index.data<std::int64_t>()[i] = target;
      result.present.data<bool>()[i] = true;
      result.member.data<bool>()[row * classes + target] = true;
    }
  }
  return result;
}

}  // namespace

Tensor cosine_similarity(const Tensor& a, const Tensor& b,
                         const CosineSimilarityOptions& options) {
  const LossFrame frame(a, "cosine_similarity");
  const Tensor x = frame(a);
  const Tensor y = frame(b);
  const std::int64_t dim = options.dim;
  const Dims shape =
      autograd::broadcast(x.shape(), y.shape(), "cosine_similarity");
  const Tensor wide_x = expand(x, shape);
  const Tensor wide_y = expand(y, shape);
  const Tensor product =
      (wide_x / unsqueeze(bounded_norm(wide_x, dim, options.eps), dim)) *
      (wide_y / unsqueeze(bounded_norm(wide_y, dim, options.eps), dim));
  return frame.finish(sum(product, {dim}), Reduction::kNone);
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b,
                         const PairwiseDistanceOptions& options) {
  check_norm(options.p, "pairwise_distance");
  const LossFrame frame(a, "pairwise_distance");
  return frame.finish(distance_of(frame(a), frame(b), options),
                      Reduction::kNone);
}

Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b,
                             const Tensor& target,
                             const MarginOptions& options) {
  const LossFrame frame(a, "cosine_embedding_loss");
  frame.check_same_shape(a, b);
  if (a.dim() < 1 || a.dim() > 2 || !target.defined() ||
      target.dim() + 1 != a.dim()) {
    throw InvalidArgument(absl::StrCat(
        "cosine_embedding_loss: rows ", a.describe(),
        " want a target each; wanted are [n, width] and [n], or [width] and "
        "[]"));
  }
  constexpr double kEpsilon = 1e-12;  // PyTorch's.
  const Tensor x = frame(a);
  const Tensor y = frame(b);
  const Tensor squares =
      (sum(x * x, {-1}) + kEpsilon) * (sum(y * y, {-1}) + kEpsilon);
  const Tensor cosine = sum(x * y, {-1}) / sqrt(squares);
  const Tensor wanted = frame(target).detach();
  const Tensor losses =
      where(eq(wanted, 1.0), 1.0 - cosine, 0.0) +
      where(eq(wanted, -1.0), at_least_zero(cosine - options.margin), 0.0);
  return frame.finish(losses, options.reduction);
}

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b,
                           const Tensor& target, const MarginOptions& options) {
  const LossFrame frame(a, "margin_ranking_loss");
  const Tensor order = frame(target) * (frame(a) - frame(b));
  return frame.finish(at_least_zero(options.margin - order), options.reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target,
                            const HingeEmbeddingOptions& options) {
  const LossFrame frame(x, "hinge_embedding_loss");
  const Tensor in = frame(x);
  const Tensor wanted = frame(target).detach();
  const Tensor losses =
      where(ne(wanted, 1.0), at_least_zero(options.margin - in), 0.0) +
      where(ne(wanted, -1.0), in, 0.0);
  return frame.finish(losses, options.reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive,
                           const Tensor& negative,
                           const TripletMarginOptions& options) {
  check_norm(options.p, "triplet_margin_loss");
  if (options.margin <= 0) {
    throw InvalidArgument(absl::StrCat("triplet_margin_loss: the margin is ",
                                       options.margin,
                                       "; wanted is a positive number"));
  }
  const LossFrame frame(anchor, "triplet_margin_loss");
  const PairwiseDistanceOptions distance{.p = options.p, .eps = options.eps};
  const Tensor a = frame(anchor);
  const Tensor p = frame(positive);
  const Tensor n = frame(negative);
  const Tensor near = distance_of(a, p, distance);
  Tensor far = distance_of(a, n, distance);
  if (options.swap) {
    const Tensor other = distance_of(p, n, distance);
    // Equal distances share the gradient.
    const Tensor half = (far + other) * 0.5;
    const Tensor smaller = where(lt(far.detach(), other.detach()), far, other);
    far = where(eq(far.detach(), other.detach()), half, smaller);
  }
  return frame.finish(at_least_zero(near - far + options.margin),
                      options.reduction);
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& targets,
                         const MultiMarginOptions& options) {
  constexpr const char* kName = "multi_margin_loss";
  if (options.p != 1 && options.p != 2) {
    throw InvalidArgument(
        absl::StrCat(kName, ": p is ", options.p, "; wanted is 1 or 2"));
  }
  const LossFrame frame(x, kName);
  const Dims wanted = x.dim() == 2 ? Dims{x.size(0)} : Dims{};
  const ClassRows rows = class_rows(frame(x), targets, wanted, kName);
  const std::int64_t classes = rows.x.size(1);
  const Tensor target = unsqueeze(rows.targets, 1);
  Tensor excess = relu(rows.x - gather(rows.x, 1, target) + options.margin);
  if (options.p == 2) excess = excess * excess;
  if (options.weight.defined()) {
    if (options.weight.shape() != Dims{classes}) {
      throw InvalidArgument(absl::StrCat(kName, ": weights ",
                                         options.weight.describe(), " for ",
                                         classes, " classes"));
    }
    const Tensor weights = index_select(frame(options.weight), 0, rows.targets);
    excess = excess * unsqueeze(weights, 1);
  }
  const Tensor own = eq(arange(0, static_cast<double>(classes)), target);
  const Tensor losses = sum(masked_fill(excess, own, 0.0), {1}) *
                        (1.0 / static_cast<double>(classes));
  return frame.finish(rows.losses(losses), options.reduction);
}

Tensor multilabel_margin_loss(const Tensor& x, const Tensor& targets,
                              Reduction reduction) {
  constexpr const char* kName = "multilabel_margin_loss";
  const LossFrame frame(x, kName);
  const ClassRows rows = class_rows(frame(x), targets, x.shape(), kName);
  const auto classes = static_cast<double>(rows.x.size(1));
  const LabelSets labels = label_sets(rows.targets, kName);
  const Tensor wanted = unsqueeze(gather(rows.x, 1, labels.index), 2);
  const Tensor excess = relu(unsqueeze(rows.x, 1) - wanted + 1.0);
  const Tensor left_out =
      where(unsqueeze(labels.present, 2), unsqueeze(labels.member, 1),
            ones({}, {.dtype = DType::kBool}));
  const Tensor losses =
      sum(masked_fill(excess, left_out, 0.0), {1, 2}) * (1.0 / classes);
  return frame.finish(rows.losses(losses), reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target,
                                   const MultilabelSoftMarginOptions& options) {
  const LossFrame frame(x, "multilabel_soft_margin_loss");
  if (x.dim() == 0) {
    throw InvalidArgument("multilabel_soft_margin_loss: x has no classes");
  }
  const Tensor weight =
      options.weight.defined() ? frame(options.weight) : Tensor();
  const Tensor losses = binary_cross_entropy_with_logits(
      frame(x), frame(target),
      {.weight = weight, .reduction = Reduction::kNone});
  return frame.finish(mean(losses, {-1}), options.reduction);
}

}  // namespace hvd
