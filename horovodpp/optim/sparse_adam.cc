// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/sparse_adam.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/optim/vector_updates.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

enum : std::size_t { kSparseStep, kSparseAverage, kSparseAverageSquare };

}  // namespace

void SparseAdamOptions::check() const {
  // Written so that NaN fails too.
  if (!(learning_rate >= 0) || !(eps >= 0)) {
    throw InvalidArgument(absl::StrCat("SparseAdam: learning_rate ",
                                       learning_rate, " and eps ", eps,
                                       " must not be negative"));
  }
  const bool in_range = beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1;
  if (!in_range) {
    throw InvalidArgument(absl::StrCat("SparseAdam: beta1 ", beta1,
                                       " and beta2 ", beta2,
                                       " must be in [0, 1)"));
  }
}

std::vector<StateSlot> SparseAdamOptions::slots() {
  return {{.name = "step", .is_count = true},
          {.name = "exp_avg"},
          {.name = "exp_avg_sq"}};
}

void SparseAdam::move(std::size_t index) {
  const Tensor& parameter = parameters()[index].tensor;
  const SparseAdamOptions& options = options_of(index);
  Slots& state = slots(index);
  if (!autograd::has_sparse_grad(parameter)) {
    if (!parameter.grad().defined()) return;
    throw InvalidArgument(absl::StrCat(
        "SparseAdam goes along sparse gradients only, and that of a ",
        parameter.describe(),
        " is not; use Adam, or look rows up with .sparse"));
  }
  const SparseRows gradient = rows_to_move(parameter, "SparseAdam");
  if (!state[kSparseStep].defined()) {
    state[kSparseStep] = nn::count_tensor(0);
    state[kSparseAverage] = zeros_like(parameter);
    state[kSparseAverageSquare] = zeros_like(parameter);
  }
  const auto steps =
      static_cast<double>(++*state[kSparseStep].data<std::int64_t>());
  const double root = std::sqrt(1.0 - std::pow(options.beta2, steps));
  autograd::visit_any_floating(
      parameter.dtype(), "SparseAdam", [&]<typename T>(TypeTag<T>) {
        for_rows<T>(gradient, [&](std::int64_t offset, const T* row,
                                  std::int64_t width) {
          // PyTorch adds eps before the correction, not after it as in Adam.
          update(AdamUpdate<T>{
              .parameter = parameter.data<T>() + offset,
              .gradient = row,
              .average = state[kSparseAverage].data<T>() + offset,
              .average_square = state[kSparseAverageSquare].data<T>() + offset,
              .count = width,
              .beta1 = options.beta1,
              .beta2 = options.beta2,
              .step_size = options.learning_rate * root /
                           (1.0 - std::pow(options.beta1, steps)),
              .eps = options.eps,
              .maximize = options.maximize});
        });
      });
  parameter.bump_version();
}

}  // namespace hvd::optim
