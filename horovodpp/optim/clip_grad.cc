// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/clip_grad.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/optim/vector_updates.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/map.h"

namespace hvd::optim {
namespace {

// Returns NaN if either value is NaN.
template <typename T>
double largest(const T* elements, std::int64_t count) {
  double result = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto size =
        static_cast<double>(std::abs(autograd::loaded(elements[i])));
    if (!(size <= result)) result = size;
    if (std::isnan(result)) break;
  }
  return result;
}

template <typename T>
double sum_of_powers(const T* elements, std::int64_t count, double exponent) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(autograd::loaded(elements[i]));
    sum += std::pow(std::abs(value), exponent);
  }
  return sum;
}

// The part of one gradient in the norm: the sum of powers, or the largest
// element.
double contribution(const Tensor& gradient, double norm_type) {
  const UpdateTarget target(gradient);
  double result = 0.0;
  autograd::visit_any_floating(
      gradient.dtype(), "clip_grad_norm_", [&]<typename T>(TypeTag<T>) {
        const T* elements = target.elements().data<T>();
        const std::int64_t count = gradient.num_elements();
        if (norm_type == 2.0) {
          result = sum_of_squares(elements, count);
        } else if (std::isinf(norm_type)) {
          result = largest(elements, count);
        } else {
          result = sum_of_powers(elements, count, norm_type);
        }
      });
  return result;
}

double total_norm(const std::vector<Tensor>& gradients, double norm_type) {
  double total = 0.0;
  for (const Tensor& gradient : gradients) {
    const double part = contribution(gradient, norm_type);
    if (!std::isinf(norm_type)) {
      total += part;
    } else if (!(part <= total)) {
      total = std::isnan(total) ? total : part;
    }
  }
  return std::isinf(norm_type) ? total : std::pow(total, 1.0 / norm_type);
}

}  // namespace

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       const ClipOptions& options) {
  if (!(max_norm >= 0) || !(options.norm_type > 0)) {
    throw InvalidArgument(absl::StrCat(
        "clip_grad_norm_: max_norm ", max_norm, " must not be negative and ",
        "norm_type ", options.norm_type, " must be positive"));
  }
  NoGrad no_grad;
  const std::vector<Tensor> gradients = gradients_of(parameters);
  const double norm = total_norm(gradients, options.norm_type);
  if (options.error_if_nonfinite && !std::isfinite(norm)) {
    throw Error(absl::OutOfRangeError(absl::StrCat(
        "the norm of the gradients is ", norm, ", so they cannot be clipped")));
  }
  const double factor = max_norm / (norm + 1e-6);
  // Not std::min, which would hide NaN.
  if (factor >= 1.0) return norm;
  scale_gradients(whole(gradients), factor, "clip_grad_norm_");
  return norm;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double bound) {
  if (!(bound >= 0)) {
    throw InvalidArgument(absl::StrCat("clip_grad_value_: the bound ", bound,
                                       " must not be negative"));
  }
  NoGrad no_grad;
  for (const Tensor& gradient : gradients_of(parameters)) {
    for_elements(gradient, "clip_grad_value_",
                 [&]<typename T>(T* elements, std::int64_t count) {
                   using Value = autograd::Loaded<T>;
                   const auto most = static_cast<Value>(bound);
                   for (std::int64_t i = 0; i < count; ++i) {
                     const Value value = autograd::loaded(elements[i]);
                     // Comparisons with NaN are false, which keeps NaN.
                     const Value low = value < -most ? -most : value;
                     elements[i] = autograd::stored<T>(low > most ? most : low);
                   }
                 });
  }
}

}  // namespace hvd::optim
