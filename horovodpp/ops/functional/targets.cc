// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/targets.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/loss_options.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

std::vector<double> weights_of(const Tensor& x, const Tensor& weight,
                               const char* operation) {
  if (!weight.defined()) {
    return std::vector<double>(static_cast<std::size_t>(x.size(1)), 1.0);
  }
  check_class_weights(weight, x.size(1), operation);
  if (needs_grad(weight)) {
    throw NotDifferentiableError(
        absl::StrCat(operation,
                     ": the weights of classes require grad, but get "
                     "none; pass their detach()"));
  }
  NoGrad no_grad;
  return to(weight, DType::kF64).to_vector<double>();
}

}  // namespace

Targets read_targets(const Tensor& x, const Tensor& targets,
                     const NllOptions& options, const char* operation) {
  report_reads(targets);
  Targets result;
  result.classes = as_int64(targets, operation).to_vector<std::int64_t>();
  result.class_weights = weights_of(x, options.weight, operation);
  result.weights.resize(result.classes.size());
  result.ignored.resize(result.classes.size());
  for (std::size_t i = 0; i < result.classes.size(); ++i) {
    std::int64_t& target = result.classes[i];
    result.ignored[i] = target == options.ignore_index;
    if (result.ignored[i]) {
      target = 0;
      continue;
    }
    if (target < 0 || target >= x.size(1)) {
      throw InvalidArgument(absl::StrCat(operation, ": target ", i, " is ",
                                         target, ", but there are ", x.size(1),
                                         " classes"));
    }
    result.weights[i] = result.class_weights[static_cast<std::size_t>(target)];
    result.total_weight += result.weights[i];
  }
  return result;
}

void check_class_weights(const Tensor& weight, std::int64_t classes,
                         const char* operation) {
  if (weight.shape() == Dims({classes}) && is_floating_point(weight.dtype())) {
    return;
  }
  throw InvalidArgument(absl::StrCat(operation, ": weights ", weight.describe(),
                                     " for ", classes,
                                     " classes; wanted is one for each"));
}

void check_classes(const Tensor& x, const char* operation) {
  if (x.size(1) != 0 || x.size(0) == 0) return;
  throw InvalidArgument(absl::StrCat(operation, ": predictions ", x.describe(),
                                     " are of no classes"));
}

void check_targets(const Tensor& x, const Tensor& targets,
                   const char* operation) {
  check_defined(x, operation);
  check_defined(targets, operation);
  Dims wanted = x.shape();
  if (x.dim() > 0) wanted.erase(x.dim() == 1 ? 0 : 1);
  if (x.dim() > 0 && is_floating_point(x.dtype()) &&
      category_of(targets.dtype()) == DTypeCategory::kInteger &&
      targets.shape() == wanted) {
    return;
  }
  throw InvalidArgument(absl::StrCat(
      operation, ": predictions ", x.describe(), " and targets ",
      targets.describe(),
      " do not go together; wanted are [n, classes] and integers [n], or "
      "with further dimensions behind, or [classes] and []"));
}

namespace {

void check(const Tensor& logits, const Tensor& targets,
           const CrossEntropyOptions& options) {
  check_defined(logits, "cross_entropy");
  if (logits.dim() == 0 || !is_floating_point(logits.dtype()) ||
      logits.shape() != targets.shape()) {
    throw InvalidArgument(absl::StrCat(
        "cross_entropy: predictions ", logits.describe(),
        " and targets that are probabilities, ", targets.describe(),
        ", do not go together; wanted are two of [n, classes], or with further "
        "dimensions behind, or of [classes]"));
  }
  if (options.ignore_index >= 0) {
    throw InvalidArgument(
        absl::StrCat("cross_entropy: ignore_index is ", options.ignore_index,
                     ", but targets that are probabilities are of no class"));
  }
}

}  // namespace

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets,
                          const CrossEntropyOptions& options) {
  check(logits, targets, options);
  const std::int64_t along = logits.dim() == 1 ? 0 : 1;
  const std::int64_t classes = logits.size(along);
  const DType dtype = logits.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Tensor wanted = targets.to(dtype);
  if (options.label_smoothing != 0.0) {
    wanted = (1.0 - options.label_smoothing) * wanted +
             options.label_smoothing / static_cast<double>(classes);
  }
  if (options.weight.defined()) {
    check_class_weights(options.weight, classes, "cross_entropy");
    Dims shape = Dims::filled(logits.shape().size(), 1);
    shape[static_cast<std::size_t>(along)] = classes;
    wanted = wanted * reshape(options.weight.to(dtype), shape);
  }
  const Tensor losses =
      -sum(log_softmax(logits.to(dtype), along) * wanted, {along});
  Tensor result = losses;
  if (options.reduction == Reduction::kSum) result = sum(losses);
  if (options.reduction == Reduction::kMean) result = mean(losses);
  return result.to(logits.dtype());
}

}  // namespace hvd::autograd
