// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/soft_targets.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/ops/arithmetic_ops.h"
#include "horovodpp/ops/functional/loss_options.h"
#include "horovodpp/ops/functional/targets.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/softmax_ops.h"
#include "horovodpp/ops/view_ops.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
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
